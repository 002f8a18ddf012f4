{{/* Written by make generate from internal/store/kinds.go. */}}

{{/* What is watched in the namespaces of users, and the status that is written there. What Gatewright also writes is in _rules.tpl. */}}
{{- define "gatewright.kindRules" -}}
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
  verbs: [list, watch]
- apiGroups: [gateway.networking.x-k8s.io]
  resources:
    - xbackendtrafficpolicies
    - xbackends
    - xtelemetrypolicies
  verbs: [list, watch]
- apiGroups: [inference.networking.k8s.io]
  resources:
    - inferencepools
  verbs: [list, watch]
- apiGroups: [inference.networking.x-k8s.io]
  resources:
    - inferencepoolimports
  verbs: [list, watch]
- apiGroups: [multicluster.x-k8s.io]
  resources:
    - serviceimports
  verbs: [list, watch]
- apiGroups: [gatewright.dev]
  resources:
    - clienttrafficpolicies
    - httproutefilters
    - backends
    - extensions
    - backendtrafficpolicies
    - securitypolicies
    - proxyconfigs
  verbs: [list, watch]
- apiGroups: [""]
  resources:
    - secrets
  verbs: [list, watch]
- apiGroups: [discovery.k8s.io]
  resources:
    - endpointslices
  verbs: [list, watch]
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
  resources:
    - xbackendtrafficpolicies/status
    - xbackends/status
    - xtelemetrypolicies/status
  verbs: [patch]
- apiGroups: [inference.networking.k8s.io]
  resources:
    - inferencepools/status
  verbs: [patch]
- apiGroups: [inference.networking.x-k8s.io]
  resources:
    - inferencepoolimports/status
  verbs: [patch]
- apiGroups: [gatewright.dev]
  resources:
    - clienttrafficpolicies/status
    - backends/status
    - backendtrafficpolicies/status
    - securitypolicies/status
  verbs: [patch]
{{- end }}

{{/* The same of what has no namespace. */}}
{{- define "gatewright.clusterKindRules" -}}
- apiGroups: [gateway.networking.k8s.io]
  resources:
    - gatewayclasses
  verbs: [list, watch]
- apiGroups: [""]
  resources:
    - namespaces
    - nodes
  verbs: [list, watch]
- apiGroups: [certificates.k8s.io]
  resources:
    - clustertrustbundles
  verbs: [list, watch]
- apiGroups: [apiextensions.k8s.io]
  resources:
    - customresourcedefinitions
  verbs: [list, watch]
- apiGroups: [gateway.networking.k8s.io]
  resources:
    - gatewayclasses/status
  verbs: [patch]
{{- end }}
