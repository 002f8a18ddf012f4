// Package v1alpha1 holds Gatewright's own kinds, as users write them.
// Enter at [ProxyConfig], which says how the proxies of a Gateway are run.
// It must not know what becomes of them: an importer inherits Kubernetes' and the Gateway API's types and nothing else.
//
// +kubebuilder:object:generate=true
// +groupName=gatewright.dev
package v1alpha1

//go:generate ../../hack/generate-api.sh
