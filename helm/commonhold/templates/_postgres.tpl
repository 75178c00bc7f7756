{{- /*
How a container learns the DSN. "settings" is .Values.postgres or .Values.migration: the DSN is a
file of the Secret, or a file that an init container made of the Secret's parts.
*/ -}}
{{- define "commonhold.migrationSettings" -}}
{{- if .Values.migration.existingSecret -}}
{{- toJson .Values.migration -}}
{{- else -}}
{{- toJson .Values.postgres -}}
{{- end -}}
{{- end -}}

{{- define "commonhold.dsnFile" -}}
{{- if .settings.fromParts }}/run/commonhold/dsn/dsn{{ else }}/run/commonhold/postgres/dsn{{ end -}}
{{- end -}}

{{- define "commonhold.dsnVolumes" -}}
- name: postgres
  secret:
    secretName: {{ .settings.existingSecret }}
    defaultMode: 0440
    items:
    {{- if .settings.fromParts }}
    {{- range $part, $key := .settings.partKeys }}
      - {key: {{ $key | quote }}, path: {{ $part | quote }}}
    {{- end }}
    {{- else }}
      - {key: {{ .settings.dsnKey | quote }}, path: dsn}
    {{- end }}
{{- if .settings.fromParts }}
- name: dsn
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- end }}
{{- end -}}

{{- define "commonhold.dsnMounts" -}}
{{- if .settings.fromParts }}
- {name: dsn, mountPath: /run/commonhold/dsn, readOnly: true}
{{- else }}
- {name: postgres, mountPath: /run/commonhold/postgres, readOnly: true}
{{- end }}
{{- end -}}

{{- /* (dict "root" $ "settings" ... "image" "...") */ -}}
{{- define "commonhold.dsnContainer" -}}
{{- if .settings.fromParts }}
- name: dsn
  image: {{ .image }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  terminationMessagePolicy: FallbackToLogsOnError
  command: [python, -c, {{ .root.Files.Get "files/dsn.py" | toJson }}]
  args: [/run/commonhold/postgres, /run/commonhold/dsn/dsn, {{ .settings.parameters | quote }}]
  securityContext: {{- include "commonhold.containerSecurity" . | nindent 4 }}
  resources: {{- toYaml .root.Values.migration.resources | nindent 4 }}
  volumeMounts:
    - {name: postgres, mountPath: /run/commonhold/postgres, readOnly: true}
    - {name: dsn, mountPath: /run/commonhold/dsn}
{{- end }}
{{- end -}}
