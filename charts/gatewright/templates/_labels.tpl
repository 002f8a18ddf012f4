{{/* The labels that select the controller's pods; they never change. */}}
{{- define "gatewright.selector" -}}
app.kubernetes.io/name: gatewright
app.kubernetes.io/component: controller
{{- end }}

{{- define "gatewright.labels" -}}
{{ include "gatewright.selector" . }}
{{ include "gatewright.chartLabels" . }}
{{- end }}

{{/* The labels that select the pods of the rate limit service; they never change. */}}
{{- define "gatewright.rateLimitSelector" -}}
app.kubernetes.io/name: gatewright
app.kubernetes.io/component: ratelimit
{{- end }}

{{- define "gatewright.rateLimitLabels" -}}
{{ include "gatewright.rateLimitSelector" . }}
{{ include "gatewright.chartLabels" . }}
{{- end }}

{{- define "gatewright.chartLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}
