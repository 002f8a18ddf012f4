{{/* The labels that select the controller's pods; they never change. */}}
{{- define "gatewright.selector" -}}
app.kubernetes.io/name: gatewright
app.kubernetes.io/component: controller
{{- end }}

{{- define "gatewright.labels" -}}
{{ include "gatewright.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}
