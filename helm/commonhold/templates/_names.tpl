{{- define "commonhold.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- /* Room is left for the longest suffix: that of the migration's Job. */ -}}
{{- define "commonhold.fullname" -}}
{{- $name := include "commonhold.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* (dict "root" $ "component" "state"). A Deployment's selector cannot be changed: neither can these. */ -}}
{{- define "commonhold.selectorLabels" -}}
app.kubernetes.io/name: {{ include "commonhold.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /*
Labels of an object, each once: "more" wins over `commonLabels`, and that over the chart's own. None
of them may be a label of the selectors (_validate.tpl).
*/ -}}
{{- define "commonhold.labels" -}}
{{- $own := dict
      "app.kubernetes.io/part-of" "commonhold"
      "app.kubernetes.io/managed-by" .root.Release.Service
      "app.kubernetes.io/version" .root.Chart.AppVersion
      "helm.sh/chart" (printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_")) -}}
{{ include "commonhold.selectorLabels" . }}
{{ merge dict (default dict .more) .root.Values.commonLabels $own | toYaml }}
{{- end -}}

{{- /* Labels of a pod: no version, so that another release of the chart alone restarts nothing. */ -}}
{{- define "commonhold.podLabels" -}}
{{ include "commonhold.selectorLabels" . }}
{{- with merge dict (default dict .more) .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "commonhold.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "commonhold.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* (dict "root" $ "service" .Values.state) */ -}}
{{- define "commonhold.image" -}}
{{- $image := .service.image -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest -}}
@{{ $image.digest }}
{{- else -}}
:{{ coalesce $image.tag .root.Values.image.tag .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* The image that migrates: any of them can. */ -}}
{{- define "commonhold.migrationImage" -}}
{{- $v := .Values -}}
{{- $service := ternary $v.state (ternary $v.gateway $v.maintenance $v.gateway.enabled) $v.state.enabled -}}
{{- include "commonhold.image" (dict "root" . "service" $service) -}}
{{- end -}}

{{- /* "true", or "" : (dict "root" $ "wanted" .Values.metrics.serviceMonitor "kind" "ServiceMonitor") */ -}}
{{- define "commonhold.monitors" -}}
{{- $wanted := toString .wanted -}}
{{- $found := .root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind) -}}
{{- if or (eq $wanted "true") (and (eq $wanted "auto") $found) -}}true{{- end -}}
{{- end -}}

{{- define "commonhold.enabledServices" -}}
{{- range list "state" "gateway" "maintenance" -}}
{{- if (index $.Values .).enabled }}{{ . }} {{ end -}}
{{- end -}}
{{- end -}}
