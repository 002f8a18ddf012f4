{{/* What Gatewright may do in the namespaces that it watches. */}}
{{- define "gatewright.rules" -}}
# What users write, which is read by lists and watches alone, and what is said about it.
{{ include "gatewright.kindRules" . }}
# Events are kept in the namespace of what they are about, and in `default` for a GatewayClass.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- if .Values.files.enabled }}
{{- if .Values.proxy.onlyInGatewrightNamespace }}
{{- fail "files.enabled is for proxies beside their Gateways; leave out proxy.onlyInGatewrightNamespace" }}
{{- end }}
# Delivery Files lays private keys into Secrets beside the proxies, and changes an annotation of their pods so that kubelets look after the
# files at once. Nothing else writes a Secret here; the one that Gatewright keeps is in role.yaml.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [patch]
{{- end }}
# Services that select the pods of XBackends and InferencePools, and backends.
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch, delete]
{{- if .Values.proxy.onlyInGatewrightNamespace }}
# Authorities; and proxies that were left where none are to run any more.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, delete]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, list, watch, delete]
- apiGroups: [apps]
  resources: [deployments, daemonsets]
  verbs: [get, list, watch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, delete]
{{- else }}
{{ include "gatewright.fleetRules" . }}
{{- end }}
{{- end }}

{{/* What Gatewright may do where proxies run. */}}
{{- define "gatewright.fleetRules" -}}
# The proxies of each Gateway, applied server-side in the Gateway's namespace. They are removed by the garbage collector with their
# Gateway, and by Gatewright when the Gateway is given another class, or no longer needs them. ConfigMaps are also read, as authorities.
# They are watched, and restored when another client changes or deletes one.
# A right to create workloads in a namespace is a right to run as any of its ServiceAccounts.
- apiGroups: [""]
  resources: [serviceaccounts, configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments, daemonsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}

{{/* The names of cluster-scoped objects. Installations with other namespaces or controller names do not share them. */}}
{{- define "gatewright.clusterName" -}}
{{- $own := ne .Values.controllerName "gatewright.dev/gateway-controller" }}
{{- if or .Values.watchNamespaces $own }}gatewright-{{ .Release.Namespace }}{{ else }}gatewright{{ end }}
{{- end }}
