package policy

import (
	"fmt"

	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/store"
)

// HasName says whether proxies resolve the name of an XBackend by DNS, again and again.
func HasName(b *gwxv1alpha1.XBackend) bool {
	return b.Spec.Type == gwxv1alpha1.BackendTypeExternalHostname && b.Spec.ExternalHostname != nil
}

// NameBudget finds the XBackends with names that a namespace has no room for.
func NameBudget(v *store.View, objects *store.Objects, byNamespace *store.Index[*gwxv1alpha1.XBackend], namespace string) limits.Cutoff {
	if byNamespace.Len(v, namespace) <= objects.Limits.ExternalHostnames {
		return limits.Cutoff{}
	}
	var items []limits.Item
	for _, key := range byNamespace.Keys(v, namespace) {
		if b, ok := objects.XBackends.Get(v, key); ok {
			items = append(items, limits.Item{Created: b.CreationTimestamp.Unix(), Key: key, Weight: 1})
		}
	}
	return limits.Find(items, objects.Limits.ExternalHostnames)
}

// Within refuses an XBackend that its namespace has no room for.
func (r ResolvedXBackend) Within(c limits.Cutoff, b *gwxv1alpha1.XBackend) ResolvedXBackend {
	if r.Hostname == "" || b == nil || !c.Excludes(b.CreationTimestamp.Unix(), store.KeyOf(b)) {
		return r
	}
	r.Accepted = invalid(fmt.Sprintf("namespace %s may have %d XBackends with an external hostname, and has more, of which this is one of the youngest, so requests are answered 503; "+
		"delete some, or ask the operator for more (limit externalHostnames)", b.Namespace, c.Limit))
	r.TLS = &ir.BackendTLS{Refused: true}
	return r
}
