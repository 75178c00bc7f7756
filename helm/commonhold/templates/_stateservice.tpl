{{- /*
A gateway or a worker over a state service elsewhere, which has no database then.
"true", or "" : (dict "root" $ "component" "gateway")
*/ -}}
{{- define "commonhold.overState" -}}
{{- if dig "stateService" "url" "" (index .root.Values .component) -}}true{{- end -}}
{{- end -}}

{{- /* The enabled services that have a database, one blank between them. */ -}}
{{- define "commonhold.databaseServices" -}}
{{- range compact (splitList " " (include "commonhold.enabledServices" . | trim)) -}}
{{- if not (include "commonhold.overState" (dict "root" $ "component" .)) }}{{ . }} {{ end -}}
{{- end -}}
{{- end -}}

{{- define "commonhold.stateService.env" -}}
- {name: COMMONHOLD_STATE_URL, value: {{ .service.stateService.url | quote }}}
- {name: NEOSIAN_CLIENT_TOKEN_FILE, value: /run/commonhold/state/token}
{{- end -}}

{{- define "commonhold.stateService.volumes" -}}
- name: state-token
  secret:
    secretName: {{ .service.stateService.existingSecret }}
    defaultMode: 0440
    items:
      - {key: {{ .service.stateService.key | quote }}, path: token}
{{- end -}}

{{- define "commonhold.stateService.mounts" -}}
- {name: state-token, mountPath: /run/commonhold/state, readOnly: true}
{{- end -}}

{{- /* What is wrong with it, as a list: (dict "root" $ "name" "gateway") */ -}}
{{- define "commonhold.stateService.faults" -}}
{{- $service := index .root.Values .name -}}
{{- $given := dig "stateService" dict $service -}}
{{- $faults := list -}}
{{- if ne (empty $given.url) (empty $given.existingSecret) -}}
{{- $faults = append $faults (printf "%s.stateService.url and %s.stateService.existingSecret go together: the address, and a Secret of this namespace with the token in the key %s.stateService.key" .name .name .name) -}}
{{- end -}}
{{- if and $given.url (eq .name "maintenance") (gt (int $service.replicas) 1) -}}
{{- $faults = append $faults "maintenance.replicas must be 1 over a state service: nothing keeps two workers from the same garden" -}}
{{- end -}}
{{- toYaml $faults -}}
{{- end -}}
