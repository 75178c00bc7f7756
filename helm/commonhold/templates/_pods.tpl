{{- define "commonhold.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "commonhold.containerSecurity" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- /* What every pod of ours has, whatever it does. */ -}}
{{- define "commonhold.podBasics" -}}
serviceAccountName: {{ include "commonhold.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- include "commonhold.podSecurity" . | nindent 2 }}
{{- end -}}

{{- /* Asks the database, never the Job: a pod of any release waits for what it needs itself. */ -}}
{{- define "commonhold.schemaContainer" -}}
- name: schema
  image: {{ .image }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  terminationMessagePolicy: FallbackToLogsOnError
  command: [commonhold, migrate, --check, --wait, {{ .root.Values.migration.waitSeconds | int64 | quote }}]
  env:
    - {name: NEOSIAN_POSTGRES_DSN_FILE, value: {{ include "commonhold.dsnFile" . }}}
    - {name: COMMONHOLD_SCHEMA, value: {{ .root.Values.postgres.schema | quote }}}
  securityContext: {{- include "commonhold.containerSecurity" . | nindent 4 }}
  resources: {{- toYaml .root.Values.migration.resources | nindent 4 }}
  volumeMounts:
    {{- include "commonhold.dsnMounts" . | trim | nindent 4 }}
{{- end -}}

{{- define "commonhold.gracePeriod" -}}
{{- $least := add (int64 .preStopSeconds) (int64 .drainSeconds) -}}
{{- if kindIs "invalid" .terminationGracePeriodSeconds -}}
{{- add $least 15 -}}
{{- else -}}
{{- int64 .terminationGracePeriodSeconds -}}
{{- end -}}
{{- end -}}

{{- define "commonhold.databaseEnv" -}}
- {name: NEOSIAN_POSTGRES_DSN_FILE, value: {{ include "commonhold.dsnFile" . }}}
- {name: COMMONHOLD_SCHEMA, value: {{ .root.Values.postgres.schema | quote }}}
- {name: COMMONHOLD_POOL_SIZE, value: {{ .service.poolSize | int64 | quote }}}
- {name: COMMONHOLD_POOL_WAIT_SECONDS, value: {{ .service.poolWaitSeconds | quote }}}
- {name: COMMONHOLD_STATEMENT_TIMEOUT_SECONDS, value: {{ .service.statementTimeoutSeconds | quote }}}
{{- end -}}

{{- /* Variables that every service reads; each stands once. */ -}}
{{- define "commonhold.commonEnv" -}}
- {name: COMMONHOLD_DRAIN_SECONDS, value: {{ .service.drainSeconds | quote }}}
- {name: COMMONHOLD_LOG_LEVEL, value: {{ .root.Values.logLevel | quote }}}
- {name: COMMONHOLD_LOG_FORMAT, value: json}
{{- end -}}

{{- /* Variables of the services that take requests. */ -}}
{{- define "commonhold.servingEnv" -}}
- {name: NEOSIAN_SERVE_TOKEN_FILE, value: /run/commonhold/tokens/current}
{{- if .root.Values.tokens.previousKey }}
- {name: COMMONHOLD_SERVE_TOKEN_PREVIOUS_FILE, value: /run/commonhold/tokens/previous}
{{- end }}
- {name: COMMONHOLD_IN_FLIGHT_LIMIT, value: {{ .service.inFlightLimit | int64 | quote }}}
- {name: COMMONHOLD_IN_FLIGHT_BYTES, value: {{ .service.inFlightBytes | int64 | quote }}}
- {name: COMMONHOLD_BODY_TIMEOUT_SECONDS, value: {{ .service.bodyTimeoutSeconds | quote }}}
{{- end -}}

{{- define "commonhold.tokensVolume" -}}
- name: tokens
  secret:
    secretName: {{ .Values.tokens.existingSecret }}
    defaultMode: 0440
    items:
      - {key: {{ .Values.tokens.key | quote }}, path: current}
      {{- with .Values.tokens.previousKey }}
      - {key: {{ . | quote }}, path: previous}
      {{- end }}
{{- end -}}

{{- define "commonhold.spread" -}}
{{- if kindIs "invalid" .service.topologySpreadConstraints -}}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "commonhold.selectorLabels" $ | nindent 6 }}
{{- end }}
{{- else if .service.topologySpreadConstraints -}}
{{- toYaml .service.topologySpreadConstraints -}}
{{- end -}}
{{- end -}}
