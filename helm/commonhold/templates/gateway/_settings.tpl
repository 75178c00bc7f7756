{{- define "commonhold.gateway.clientsConfigMap" -}}
{{- with .Values.gateway.clients -}}
{{- if .toml -}}
{{ include "commonhold.fullname" $ }}-gateway-clients
{{- else -}}
{{ .existingConfigMap }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "commonhold.gateway.mounts" -}}
{{- $tokens := list -}}
{{- range .Values.gateway.mounts -}}
{{- $flag := ternary ",ro" (ternary ",eo" "" (default false .editOnly)) (default false .readOnly) -}}
{{- $tokens = append $tokens (printf "scope=%s,path=%s%s" .scope .path $flag) -}}
{{- end -}}
{{- join ";" $tokens -}}
{{- end -}}

{{- /* The names by which clients inside and outside the cluster may call it. */ -}}
{{- define "commonhold.gateway.allowedHosts" -}}
{{- $name := printf "%s-gateway" (include "commonhold.fullname" .) -}}
{{- $space := .Release.Namespace -}}
{{- $hosts := list "localhost" "127.0.0.1" "[::1]" $name (printf "%s.%s" $name $space) (printf "%s.%s.svc" $name $space) (printf "%s.%s.svc.cluster.local" $name $space) -}}
{{- with .Values.gateway -}}
{{- if .ingress.enabled }}{{ $hosts = concat $hosts .ingress.hosts }}{{ end -}}
{{- if .httpRoute.enabled }}{{ $hosts = concat $hosts .httpRoute.hostnames }}{{ end -}}
{{- $hosts = concat $hosts .allowedHosts -}}
{{- end -}}
{{- $hosts | uniq | join "," -}}
{{- end -}}

{{- define "commonhold.gateway.allowedOrigins" -}}
{{- $loopback := list "http://localhost" "http://127.0.0.1" "http://[::1]" "https://localhost" "https://127.0.0.1" "https://[::1]" -}}
{{- concat $loopback .Values.gateway.allowedOrigins | uniq | join "," -}}
{{- end -}}

{{- define "commonhold.gateway.env" -}}
{{- $service := .Values.gateway }}
- {name: COMMONHOLD_GATEWAY_LISTEN, value: "0.0.0.0:6368"}
- {name: COMMONHOLD_GATEWAY_OPS_LISTEN, value: "0.0.0.0:9368"}
- {name: COMMONHOLD_GATEWAY_SESSIONS, value: {{ $service.sessions }}}
- {name: COMMONHOLD_GATEWAY_ALLOWED_HOSTS, value: {{ include "commonhold.gateway.allowedHosts" . | quote }}}
- {name: COMMONHOLD_GATEWAY_ALLOWED_ORIGINS, value: {{ include "commonhold.gateway.allowedOrigins" . | quote }}}
- {name: COMMONHOLD_GATEWAY_CALL_SECONDS, value: {{ $service.callSeconds | quote }}}
- {name: COMMONHOLD_GATEWAY_CALLS_PER_CLIENT, value: {{ $service.callsPerClient | int64 | quote }}}
- {name: COMMONHOLD_GATEWAY_BODY_LIMIT_BYTES, value: {{ $service.bodyLimitBytes | int64 | quote }}}
{{- with include "commonhold.gateway.mounts" . }}
- {name: COMMONHOLD_GATEWAY_MOUNTS, value: {{ . | quote }}}
{{- end }}
{{- if include "commonhold.gateway.clientsConfigMap" . }}
- {name: COMMONHOLD_GATEWAY_CLIENTS, value: /etc/commonhold/clients/clients.toml}
{{- end }}
{{- with $service.publicUrl }}
- {name: COMMONHOLD_GATEWAY_PUBLIC_URL, value: {{ . | quote }}}
{{- end }}
{{- end -}}

{{- define "commonhold.gateway.volumes" -}}
{{ include "commonhold.tokensVolume" . }}
{{- with include "commonhold.gateway.clientsConfigMap" . }}
- name: clients
  configMap: {name: {{ . }}}
{{- end }}
{{- end -}}

{{- define "commonhold.gateway.volumeMounts" -}}
- {name: tokens, mountPath: /run/commonhold/tokens, readOnly: true}
{{- if include "commonhold.gateway.clientsConfigMap" . }}
- {name: clients, mountPath: /etc/commonhold/clients, readOnly: true}
{{- end }}
{{- end -}}
