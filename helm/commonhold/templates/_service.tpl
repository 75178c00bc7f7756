{{- /* (dict "root" $ "component" "state" "ops" 9367) */ -}}
{{- define "commonhold.service" -}}
{{- $service := index .root.Values .component -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "commonhold.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "commonhold.labels" . | nindent 4 }}
  {{- with dig "service" "annotations" dict $service }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ dig "service" "type" "ClusterIP" $service }}
  selector: {{- include "commonhold.selectorLabels" . | nindent 4 }}
  ports:
    {{- with dig "service" "port" 0 $service }}
    - {name: http, port: {{ . }}, targetPort: http, protocol: TCP, appProtocol: http}
    {{- end }}
    - {name: ops, port: {{ .ops }}, targetPort: ops, protocol: TCP, appProtocol: http}
{{- end -}}

{{- /* Above one replica only: at one it would hold up every drain of a node. */ -}}
{{- define "commonhold.podDisruptionBudget" -}}
{{- $service := index .root.Values .component -}}
{{- $fewest := ternary (dig "autoscaling" "minReplicas" 0 $service) $service.replicas (dig "autoscaling" "enabled" false $service) -}}
{{- if and $service.podDisruptionBudget.enabled (gt (int $fewest) 1) -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "commonhold.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "commonhold.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ $service.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels: {{- include "commonhold.selectorLabels" . | nindent 6 }}
{{- end -}}
{{- end -}}

{{- define "commonhold.horizontalPodAutoscaler" -}}
{{- $scaling := (index .root.Values .component).autoscaling -}}
{{- if $scaling.enabled -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "commonhold.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "commonhold.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "commonhold.fullname" .root }}-{{ .component }}
  minReplicas: {{ $scaling.minReplicas }}
  maxReplicas: {{ $scaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: {{ $scaling.targetCPUUtilizationPercentage }}}
    {{- with $scaling.metrics }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $scaling.behavior }}
  behavior: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
{{- end -}}

{{- /* "paths" are those that clients call: the operations port is never routed. */ -}}
{{- define "commonhold.ingress" -}}
{{- $service := index .root.Values .component -}}
{{- if $service.ingress.enabled -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ include "commonhold.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "commonhold.labels" . | nindent 4 }}
  {{- with merge (dict) $service.ingress.annotations $service.ingress.controllerAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with $service.ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with $service.ingress.tls }}
  tls: {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    {{- range $service.ingress.hosts }}
    - host: {{ . | quote }}
      http:
        paths:
          {{- range $.paths }}
          - path: {{ . }}
            pathType: Prefix
            backend:
              service:
                name: {{ include "commonhold.fullname" $.root }}-{{ $.component }}
                port: {name: http}
          {{- end }}
    {{- end }}
{{- end -}}
{{- end -}}

{{- define "commonhold.httpRoute" -}}
{{- $service := index .root.Values .component -}}
{{- if $service.httpRoute.enabled -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {{ include "commonhold.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "commonhold.labels" . | nindent 4 }}
  {{- with $service.httpRoute.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  parentRefs: {{- toYaml $service.httpRoute.parentRefs | nindent 4 }}
  {{- with $service.httpRoute.hostnames }}
  hostnames: {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - matches:
        {{- range .paths }}
        - path: {type: PathPrefix, value: {{ . }}}
        {{- end }}
      backendRefs:
        - name: {{ include "commonhold.fullname" .root }}-{{ .component }}
          port: {{ $service.service.port }}
      timeouts: {request: {{ $service.httpRoute.requestTimeout }}}
{{- end -}}
{{- end -}}
