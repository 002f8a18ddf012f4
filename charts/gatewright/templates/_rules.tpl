{{/* What Gatewright may do in the namespaces that it watches. */}}
{{- define "gatewright.rules" -}}
# What users write.
- apiGroups: [gateway.networking.k8s.io]
  resources:
    - gateways
    - listenersets
    - httproutes
    - grpcroutes
    - tlsroutes
    - tcproutes
    - udproutes
    - backendtlspolicies
    - referencegrants
  verbs: [get, list, watch]
- apiGroups: [gateway.networking.x-k8s.io]
  resources: [xbackends, xbackendtrafficpolicies, xtelemetrypolicies]
  verbs: [get, list, watch]
- apiGroups: [gatewright.dev]
  resources: [proxyconfigs]
  verbs: [get, list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch]
# What is said about it.
- apiGroups: [gateway.networking.k8s.io]
  resources:
    - gateways/status
    - listenersets/status
    - httproutes/status
    - grpcroutes/status
    - tlsroutes/status
    - tcproutes/status
    - udproutes/status
    - backendtlspolicies/status
  verbs: [patch]
- apiGroups: [gateway.networking.x-k8s.io]
  resources: [xbackends/status, xbackendtrafficpolicies/status, xtelemetrypolicies/status]
  verbs: [patch]
# Events are kept in the namespace of what they are about, and in `default` for a GatewayClass.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
# Certificates and authorities. Nothing but delivery Files writes a Secret here; the one that Gatewright keeps is in role.yaml.
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch]
{{- if .Values.files.enabled }}
# Delivery Files lays private keys into Secrets beside the proxies, and changes an annotation of their pods so that kubelets look after the files at once.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [patch]
{{- end }}
# The proxies of each Gateway, applied server-side in the Gateway's namespace. They are removed by the garbage collector with their
# Gateway, and by Gatewright when the Gateway is given another class, or no longer needs them.
# Services and ConfigMaps are also read, as backends and authorities.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, list, create, patch, delete]
- apiGroups: [""]
  resources: [configmaps, services]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments, daemonsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, create, patch, delete]
{{- end }}

{{/* The names of what has no namespace. Gatewrights that watch different namespaces do not share them. */}}
{{- define "gatewright.clusterName" -}}
{{- if .Values.watchNamespaces }}gatewright-{{ .Release.Namespace }}{{ else }}gatewright{{ end }}
{{- end }}
