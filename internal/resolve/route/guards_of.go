package route

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// guardsOf is a digest of what guards the requests of a route, and of which requests these are. It is 0 for a route without filters and
// policies that may refuse requests, as most are.
func (in Inputs) guardsOf(v *store.View, route requestRoute) uint64 {
	layers := in.policiesOf(v, route.kind, ir.Name{Namespace: route.meta.Namespace, Name: route.meta.Name})
	protection := func(rule requestRule) *ir.RequestPolicy {
		if layer := layers.Of(rule.name); layer != nil {
			return layer.Request.Protection()
		}
		return nil
	}
	if !slices.ContainsFunc(route.rules, func(rule requestRule) bool { return guards(rule.filters) || protection(rule) != nil }) {
		return 0
	}
	digest := fnv.New64a()
	// A version with a password that is no longer valid guards otherwise.
	add := func(value any) { _, _ = fmt.Fprintln(digest, ir.DigestWithSecrets(value)) }
	add(route.common)
	add(route.hostnames)
	for _, rule := range route.rules {
		for _, m := range rule.matches {
			add(m.Match)
			add(m.unknown)
		}
		add(rule.filters)
		add(protection(rule))
	}
	return digest.Sum64()
}

// guardsAsBefore says whether an earlier version of a route guards requests as the present one is to.
func (in Inputs) guardsAsBefore(v *store.View, kind store.Kind, key string, last Resolved) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	route, ok := in.requestRouteOf(v, kind, key)
	if !ok {
		// Whole connections pass no guard of a route.
		return true
	}
	guarded := in.guardsOf(v, route)
	return guarded == 0 || guarded == last.guarded
}
