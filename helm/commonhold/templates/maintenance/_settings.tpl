{{- define "commonhold.maintenance.gardensConfigMap" -}}
{{- with .Values.maintenance.gardens -}}
{{- if .toml -}}
{{ include "commonhold.fullname" $ }}-maintenance-gardens
{{- else -}}
{{ .existingConfigMap }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "commonhold.maintenance.env" -}}
{{- $model := .Values.maintenance.model }}
- {name: COMMONHOLD_MAINTENANCE_OPS_LISTEN, value: "0.0.0.0:9369"}
- {name: COMMONHOLD_GARDENS, value: /etc/commonhold/gardens/gardens.toml}
- {name: COMMONHOLD_MAINTENANCE_LEASE_SECONDS, value: {{ .Values.maintenance.leaseSeconds | quote }}}
- {name: COMMONHOLD_MAINTENANCE_POLL_SECONDS, value: {{ .Values.maintenance.pollSeconds | quote }}}
- {name: COMMONHOLD_MAINTENANCE_PASS_SECONDS, value: {{ .Values.maintenance.passSeconds | quote }}}
{{- if $model.url }}
- {name: COMMONHOLD_MODEL_URL, value: {{ $model.url | quote }}}
- {name: COMMONHOLD_MODEL_NAME, value: {{ $model.name | quote }}}
{{- if $model.existingSecret }}
- {name: COMMONHOLD_MODEL_KEY_FILE, value: /run/commonhold/model/key}
{{- end }}
{{- end }}
{{- end -}}

{{- define "commonhold.maintenance.volumes" -}}
- name: gardens
  configMap: {name: {{ include "commonhold.maintenance.gardensConfigMap" . }}}
{{- with .Values.maintenance.model }}
{{- if and .url .existingSecret }}
- name: model
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      - {key: {{ .key | quote }}, path: key}
{{- end }}
{{- end }}
{{- end -}}

{{- define "commonhold.maintenance.volumeMounts" -}}
- {name: gardens, mountPath: /etc/commonhold/gardens, readOnly: true}
{{- with .Values.maintenance.model }}
{{- if and .url .existingSecret }}
- {name: model, mountPath: /run/commonhold/model, readOnly: true}
{{- end }}
{{- end }}
{{- end -}}
