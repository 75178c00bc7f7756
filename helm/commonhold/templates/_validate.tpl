{{- /* Names that other charts use, and the ones meant. They stay in the schema so that this can say it. */ -}}
{{- define "commonhold.validate.moved" -}}
replicaCount: state.replicas, gateway.replicas or maintenance.replicas
imagePullSecrets: image.pullSecrets
autoscaling: state.autoscaling or gateway.autoscaling
ingress: state.ingress or gateway.ingress
resources: state.resources, gateway.resources or maintenance.resources
postgresql: postgres.existingSecret
{{- end -}}

{{- define "commonhold.validate" -}}
{{- $v := .Values -}}
{{- $faults := list -}}
{{- range $old, $new := include "commonhold.validate.moved" . | fromYaml -}}
{{- if hasKey $v $old }}{{ $faults = append $faults (printf "%s is no value of this chart: use %s" $old $new) }}{{ end -}}
{{- end -}}
{{- $services := splitList " " (include "commonhold.enabledServices" . | trim) -}}
{{- if not (compact $services) -}}
{{- $faults = append $faults "nothing is enabled: set state.enabled, gateway.enabled or maintenance.enabled" -}}
{{- end -}}
{{- $stored := include "commonhold.databaseServices" . | trim -}}
{{- if and (or $v.postgres.existingSecret $v.migration.existingSecret) (compact $services) (not $stored) -}}
{{- $faults = append $faults "postgres.existingSecret and migration.existingSecret would be a second store: every service here is over a state service (stateService.url)" -}}
{{- end -}}
{{- if and $stored (not $v.postgres.existingSecret) -}}
{{- $faults = append $faults "postgres.existingSecret is missing: name a Secret of this namespace with the DSN in the key postgres.dsnKey" -}}
{{- end -}}
{{- if and (or $v.state.enabled $v.gateway.enabled) (not $v.tokens.existingSecret) -}}
{{- $faults = append $faults "tokens.existingSecret is missing: name a Secret of this namespace with the token or token table in the key tokens.key" -}}
{{- end -}}
{{- if and $v.gateway.enabled (not $v.gateway.mounts) (not (include "commonhold.gateway.clientsConfigMap" .)) -}}
{{- $faults = append $faults "the gateway mounts nothing, so /mcp would be 404: set gateway.mounts, or gateway.clients.toml or .existingConfigMap" -}}
{{- end -}}
{{- with $v.gateway.clients -}}
{{- if and .toml .existingConfigMap }}{{ $faults = append $faults "gateway.clients: give toml or existingConfigMap, not both" }}{{ end -}}
{{- end -}}
{{- if and (eq $v.gateway.sessions "stateful") $v.gateway.enabled (or $v.gateway.autoscaling.enabled (gt (int $v.gateway.replicas) 1)) -}}
{{- $faults = append $faults "gateway.sessions stateful needs one replica: a session lives in the replica that began it" -}}
{{- end -}}
{{- if $v.maintenance.enabled -}}
{{- with $v.maintenance.gardens -}}
{{- if and .toml .existingConfigMap }}{{ $faults = append $faults "maintenance.gardens: give toml or existingConfigMap, not both" }}{{ end -}}
{{- if not (or .toml .existingConfigMap) }}{{ $faults = append $faults "maintenance has nothing to tend: set maintenance.gardens.toml or .existingConfigMap" }}{{ end -}}
{{- end -}}
{{- if ne (empty $v.maintenance.model.url) (empty $v.maintenance.model.name) }}{{ $faults = append $faults "maintenance.model.url and maintenance.model.name go together" }}{{ end -}}
{{- end -}}
{{- if and (eq (toString $v.metrics.serviceMonitor) "true") (eq (toString $v.metrics.podMonitor) "true") -}}
{{- $faults = append $faults "metrics.serviceMonitor and metrics.podMonitor would scrape everything twice: set one of them to false" -}}
{{- end -}}
{{- range $name := compact $services -}}
{{- $faults = concat $faults (include "commonhold.validate.service" (dict "root" $ "name" $name) | fromYamlArray) -}}
{{- end -}}
{{- $labels := dict "commonLabels" $v.commonLabels "metrics.labels" $v.metrics.labels "metrics.dashboards.labels" $v.metrics.dashboards.labels -}}
{{- range $name := compact $services }}{{ $_ := set $labels (printf "%s.podLabels" $name) (index $v $name).podLabels }}{{ end -}}
{{- range $value, $given := $labels -}}
{{- range $key := keys (include "commonhold.selectorLabels" (dict "root" $ "component" "x") | fromYaml) | sortAlpha -}}
{{- if hasKey (default dict $given) $key }}{{ $faults = append $faults (printf "%s: %s is one of the selectors' labels and cannot be set" $value $key) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $faults = concat $faults (include "commonhold.networkPolicy.faults" . | fromYamlArray) -}}
{{- with include "commonhold.budget.fault" . }}{{ $faults = append $faults . }}{{ end -}}
{{- if $faults -}}
{{- fail (printf "\n\n  - %s\n" (join "\n  - " $faults)) -}}
{{- end -}}
{{- end -}}

{{- define "commonhold.validate.service" -}}
{{- $service := index .root.Values .name -}}
{{- $faults := list -}}
{{- $least := add (int64 $service.preStopSeconds) (int64 $service.drainSeconds) -}}
{{- $grace := include "commonhold.gracePeriod" $service | int64 -}}
{{- if le $grace $least -}}
{{- $faults = append $faults (printf "%s.terminationGracePeriodSeconds is %d, and must be more than preStopSeconds + drainSeconds = %d, or requests are cut off" .name $grace $least) -}}
{{- end -}}
{{- $isRolled := not (and (eq .name "maintenance") (include "commonhold.overState" (dict "root" .root "component" .name))) -}}
{{- $moves := list $service.rollout.maxSurge $service.rollout.maxUnavailable | toStrings -}}
{{- if and $isRolled (eq (trimSuffix "%" (first $moves)) "0") (eq (trimSuffix "%" (last $moves)) "0") -}}
{{- $faults = append $faults (printf "%s.rollout: maxSurge and maxUnavailable are both 0, so that no pod could ever be replaced" .name) -}}
{{- end -}}
{{- if dig "autoscaling" "enabled" false $service -}}
{{- if gt (int $service.autoscaling.minReplicas) (int $service.autoscaling.maxReplicas) -}}
{{- $faults = append $faults (printf "%s.autoscaling.minReplicas is more than maxReplicas" .name) -}}
{{- end -}}
{{- end -}}
{{- $faults = concat $faults (include "commonhold.stateService.faults" . | fromYamlArray) -}}
{{- range $service.extraEnv -}}
{{- if has (trimSuffix "_FILE" .name) (list "NEOSIAN_POSTGRES_DSN" "COMMONHOLD_ROOT" "COMMONHOLD_STATE_URL") -}}
{{- $faults = append $faults (printf "%s.extraEnv: %s would be a second store beside postgres.existingSecret or stateService.url" $.name .name) -}}
{{- else if has (trimSuffix "_FILE" .name) (include "commonhold.validate.ownNames" . | fromYamlArray) -}}
{{- $faults = append $faults (printf "%s.extraEnv: %s is set by the chart; use the value for it" $.name .name) -}}
{{- end -}}
{{- end -}}
{{- toYaml $faults -}}
{{- end -}}

{{- define "commonhold.validate.ownNames" -}}
- NEOSIAN_SERVE_TOKEN
- NEOSIAN_CLIENT_TOKEN
- COMMONHOLD_SERVE_TOKEN_PREVIOUS
- COMMONHOLD_SCHEMA
- COMMONHOLD_POOL_SIZE
- COMMONHOLD_POOL_WAIT_SECONDS
- COMMONHOLD_STATEMENT_TIMEOUT_SECONDS
- COMMONHOLD_DRAIN_SECONDS
- COMMONHOLD_LOG_LEVEL
- COMMONHOLD_LOG_FORMAT
- COMMONHOLD_IN_FLIGHT_LIMIT
- COMMONHOLD_IN_FLIGHT_BYTES
- COMMONHOLD_BODY_TIMEOUT_SECONDS
- COMMONHOLD_STATE_LISTEN
- COMMONHOLD_STATE_OPS_LISTEN
- COMMONHOLD_GATEWAY_LISTEN
- COMMONHOLD_GATEWAY_OPS_LISTEN
- COMMONHOLD_GATEWAY_SESSIONS
- COMMONHOLD_GATEWAY_ALLOWED_HOSTS
- COMMONHOLD_GATEWAY_ALLOWED_ORIGINS
- COMMONHOLD_GATEWAY_CALL_SECONDS
- COMMONHOLD_GATEWAY_CALLS_PER_CLIENT
- COMMONHOLD_GATEWAY_BODY_LIMIT_BYTES
- COMMONHOLD_GATEWAY_MOUNTS
- COMMONHOLD_GATEWAY_CLIENTS
- COMMONHOLD_GATEWAY_PUBLIC_URL
- COMMONHOLD_MAINTENANCE_OPS_LISTEN
- COMMONHOLD_GARDENS
- COMMONHOLD_MAINTENANCE_LEASE_SECONDS
- COMMONHOLD_MAINTENANCE_POLL_SECONDS
- COMMONHOLD_MAINTENANCE_PASS_SECONDS
- COMMONHOLD_MODEL_URL
- COMMONHOLD_MODEL_NAME
- COMMONHOLD_MODEL_KEY
{{- end -}}
