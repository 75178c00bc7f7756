{{- /*
The connections that all pods of the release may hold at once: a pool and a probe a replica, in a
rollout with its surge, and the two of a migration.
*/ -}}
{{- define "commonhold.budget" -}}
{{- $total := 2 -}}
{{- $parts := list -}}
{{- range $name := compact (splitList " " (include "commonhold.databaseServices" . | trim)) -}}
{{- $service := index $.Values $name -}}
{{- $replicas := ternary (dig "autoscaling" "maxReplicas" 0 $service) $service.replicas (dig "autoscaling" "enabled" false $service) | int -}}
{{- $surge := include "commonhold.budget.surge" (dict "surge" $service.rollout.maxSurge "replicas" $replicas) | int -}}
{{- $each := add (int $service.poolSize) 1 -}}
{{- $sum := mul (add $replicas $surge) $each -}}
{{- $total = add $total $sum -}}
{{- $parts = append $parts (printf "%s (%d replicas + %d surge) x (pool %d + 1) = %d" $name $replicas $surge (int $service.poolSize) $sum) -}}
{{- end -}}
{{- $reserve := int .Values.postgres.reservedConnections -}}
{{- $parts = append $parts (printf "migration 2, reserve %d" $reserve) -}}
{{- dict "total" (add $total $reserve) "parts" (join "; " $parts) | toJson -}}
{{- end -}}

{{- /* A number, or a share of the replicas, rounded up as the controller does. */ -}}
{{- define "commonhold.budget.surge" -}}
{{- $text := toString .surge -}}
{{- if hasSuffix "%" $text -}}
{{- divf (mulf (trimSuffix "%" $text | float64) (float64 .replicas)) 100.0 | ceil | int -}}
{{- else -}}
{{- int $text -}}
{{- end -}}
{{- end -}}

{{- define "commonhold.budget.fault" -}}
{{- $budget := include "commonhold.budget" . | fromJson -}}
{{- $most := int .Values.postgres.maxConnections -}}
{{- if and (include "commonhold.databaseServices" .) (gt $most 0) (gt (int $budget.total) $most) -}}
{{- printf "the connection budget is %d and postgres.maxConnections is %d: %s. Lower a poolSize or the replicas, or raise max_connections and this value" (int $budget.total) $most $budget.parts -}}
{{- end -}}
{{- end -}}

{{- define "commonhold.budget.line" -}}
{{- $budget := include "commonhold.budget" . | fromJson -}}
{{- if not (include "commonhold.databaseServices" .) -}}
Database connections: none. What runs here is over a state service.
{{- else -}}
Database connections: at most {{ int $budget.total }}{{ with int .Values.postgres.maxConnections }} of {{ . }}{{ end }}: {{ $budget.parts }}.
{{- end -}}
{{- end -}}
