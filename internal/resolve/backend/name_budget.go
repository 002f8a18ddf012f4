package backend

import (
	"fmt"

	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/store"
)

// FixedNames counts the names of a Backend that proxies resolve by DNS.
func FixedNames(b *v1alpha1.Backend) int {
	count := 0
	for i := range b.Spec.Endpoints {
		if b.Spec.Endpoints[i].FQDN != nil {
			count++
		}
	}
	return count
}

// XBackendNames counts the names of an XBackend that proxies resolve by DNS.
func XBackendNames(b *gwxv1alpha1.XBackend) int {
	if b.Spec.Type == gwxv1alpha1.BackendTypeExternalHostname && b.Spec.ExternalHostname != nil {
		return 1
	}
	return 0
}

// NameBudget finds those of some objects whose names are beyond a limit; names counts the names of an object.
func NameBudget[O store.Object](v *store.View, table *store.Table[O], keys []string, names func(O) int, limit int) limits.Cutoff {
	var items []limits.Item
	for _, key := range keys {
		if b, ok := table.Get(v, key); ok {
			items = append(items, limits.Item{Created: b.GetCreationTimestamp().Unix(), Key: key, Weight: names(b)})
		}
	}
	return limits.Find(items, limit)
}

// Within rejects a Backend that is beyond the limit of its namespace.
func (f Fixed) Within(c limits.Cutoff, b *v1alpha1.Backend) Fixed {
	if f.Accepted != nil || FixedNames(b) == 0 || !c.Excludes(b.CreationTimestamp.Unix(), store.KeyOf(b)) {
		return f
	}
	f.Accepted = invalid(fmt.Sprintf("the Backends of namespace %s may have %d names together, and have more, and this is one of the "+
		"youngest, so requests are answered 503; delete some, or ask the operator for more (limit %s)",
		b.Namespace, c.Limit, limits.NameExternalHostnames))
	return f.closed()
}

// Within rejects an XBackend that is beyond the limit of its namespace.
func (r ResolvedXBackend) Within(c limits.Cutoff, b *gwxv1alpha1.XBackend) ResolvedXBackend {
	if r.Hostname == "" || !c.Excludes(b.CreationTimestamp.Unix(), store.KeyOf(b)) {
		return r
	}
	r.Accepted = invalid(fmt.Sprintf("namespace %s may have %d XBackends with an external hostname, and has more, of which this is one "+
		"of the youngest, so requests are answered 503; delete some, or ask the operator for more (limit %s)",
		b.Namespace, c.Limit, limits.NameExternalHostnames))
	r.TLS = &ir.BackendTLS{FailClosed: true}
	return r
}
