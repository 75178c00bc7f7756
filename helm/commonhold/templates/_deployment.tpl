{{- /*
The Deployment of a service. Beside "root" and "component" the caller gives what differs:
"env", "volumes", "mounts" and "ports" as text, and "config", which is hashed so that a change of
it restarts the pods.
*/ -}}
{{- define "commonhold.deployment" -}}
{{- $root := .root -}}
{{- $service := index $root.Values .component -}}
{{- $image := include "commonhold.image" (dict "root" $root "service" $service) -}}
{{- $all := merge (dict "service" $service "image" $image "settings" $root.Values.postgres) . -}}
{{- $annotations := dict "kubectl.kubernetes.io/default-container" .component -}}
{{- with .config }}{{ $_ := set $annotations "checksum/config" (sha256sum .) }}{{ end -}}
{{- $over := include "commonhold.overState" $all -}}
{{- $scaled := and (hasKey $service "autoscaling") (dig "autoscaling" "enabled" false $service) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "commonhold.fullname" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "commonhold.labels" . | nindent 4 }}
spec:
  {{- if not $scaled }}
  replicas: {{ $service.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  selector:
    matchLabels: {{- include "commonhold.selectorLabels" . | nindent 6 }}
  {{- if and $over (eq .component "maintenance") }}
  # A second worker beside it would tend the same gardens.
  strategy: {type: Recreate}
  {{- else }}
  strategy:
    type: RollingUpdate
    rollingUpdate: {{- toYaml $service.rollout | nindent 6 }}
  {{- end }}
  template:
    metadata:
      labels: {{- include "commonhold.podLabels" (dict "root" $root "component" .component "more" $service.podLabels) | nindent 8 }}
      annotations: {{- merge dict $service.podAnnotations $annotations | toYaml | nindent 8 }}
    spec:
      {{- include "commonhold.podBasics" $root | nindent 6 }}
      terminationGracePeriodSeconds: {{ include "commonhold.gracePeriod" $service }}
      {{- with $service.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $service.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $service.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $service.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with include "commonhold.spread" $all | trim }}
      topologySpreadConstraints: {{- . | nindent 8 }}
      {{- end }}
      {{- if not $over }}
      initContainers:
        {{- with include "commonhold.dsnContainer" $all | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- include "commonhold.schemaContainer" $all | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ $image }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          terminationMessagePolicy: FallbackToLogsOnError
          env:
            {{- include (ternary "commonhold.stateService.env" "commonhold.databaseEnv" (eq $over "true")) $all | nindent 12 }}
            {{- include "commonhold.commonEnv" $all | nindent 12 }}
            {{- .env | trim | nindent 12 }}
            {{- with $service.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports: {{- .ports | trim | nindent 12 }}
          startupProbe:
            httpGet: {path: /livez, port: ops}
            periodSeconds: 1
            timeoutSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /livez, port: ops}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: ops}
            periodSeconds: 2
            timeoutSeconds: 2
            failureThreshold: 2
          {{- if gt (int64 $service.preStopSeconds) 0 }}
          lifecycle:
            preStop:
              exec: {command: [sleep, {{ $service.preStopSeconds | int64 | quote }}]}
          {{- end }}
          securityContext: {{- include "commonhold.containerSecurity" $all | nindent 12 }}
          resources: {{- toYaml $service.resources | nindent 12 }}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
            {{- include (ternary "commonhold.stateService.mounts" "commonhold.dsnMounts" (eq $over "true")) $all | trim | nindent 12 }}
            {{- with .mounts | trim }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- with $service.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: {sizeLimit: 64Mi}
        {{- include (ternary "commonhold.stateService.volumes" "commonhold.dsnVolumes" (eq $over "true")) $all | nindent 8 }}
        {{- with .volumes | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with $service.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}
