package refs

import (
	"cmp"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// Origin is the side a reference comes from.
type Origin struct {
	// Group is that of the Gateway API if it is empty.
	Group     string
	Kind      string
	Namespace string
}

// Target is the side a reference leads to.
type Target struct {
	// Group is empty for the core API group.
	Group     string
	Kind      string
	Namespace string
	Name      string
}

// Permitted says whether a reference may be followed: within a namespace always, across namespaces only with a ReferenceGrant in the
// target's namespace.
func Permitted(v *store.View, objects *store.Objects, from Origin, to Target) bool {
	if from.Namespace == to.Namespace {
		return true
	}
	for _, key := range objects.GrantsByNamespace.Keys(v, to.Namespace) {
		grant, ok := objects.ReferenceGrants.Get(v, key)
		if ok && grantsFrom(grant.Spec.From, from) && grantsTo(grant.Spec.To, to) {
			return true
		}
	}
	return false
}

func grantsFrom(list []gwv1.ReferenceGrantFrom, from Origin) bool {
	for _, f := range list {
		if string(f.Group) == cmp.Or(from.Group, gwv1.GroupName) && string(f.Kind) == from.Kind && string(f.Namespace) == from.Namespace {
			return true
		}
	}
	return false
}

func grantsTo(list []gwv1.ReferenceGrantTo, to Target) bool {
	for _, t := range list {
		if string(t.Group) == to.Group && string(t.Kind) == to.Kind && (t.Name == nil || *t.Name == "" || string(*t.Name) == to.Name) {
			return true
		}
	}
	return false
}
