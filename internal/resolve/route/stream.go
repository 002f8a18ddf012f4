package route

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// streamRoute is what the routes that forward whole connections have in common.
type streamRoute struct {
	kind      store.Kind
	meta      *metav1.ObjectMeta
	common    gwv1.CommonRouteSpec
	hostnames []gwv1.Hostname
	// rules holds the backends of each rule, and name is that of the first.
	rules    [][]gwv1.BackendRef
	name     string
	protocol ir.BackendProtocol
}

// TLS resolves the TLSRoute of that key.
func TLS(v *store.View, in Inputs, key string) Resolved {
	route, ok := in.Objects.TLSRoutes.Get(v, key)
	if !ok {
		return Resolved{}
	}
	s := streamRoute{
		kind: store.TLSRoute, meta: &route.ObjectMeta, common: route.Spec.CommonRouteSpec,
		hostnames: route.Spec.Hostnames, protocol: ir.BackendTCP,
	}
	for i, rule := range route.Spec.Rules {
		s.rules = append(s.rules, rule.BackendRefs)
		if i == 0 {
			s.name = ruleName(rule.Name)
		}
	}
	return in.stream(v, s)
}

// TCP resolves the TCPRoute of that key.
func TCP(v *store.View, in Inputs, key string) Resolved {
	route, ok := in.Objects.TCPRoutes.Get(v, key)
	if !ok {
		return Resolved{}
	}
	s := streamRoute{kind: store.TCPRoute, meta: &route.ObjectMeta, common: route.Spec.CommonRouteSpec, protocol: ir.BackendTCP}
	for i, rule := range route.Spec.Rules {
		s.rules = append(s.rules, rule.BackendRefs)
		if i == 0 {
			s.name = ruleName(rule.Name)
		}
	}
	return in.stream(v, s)
}

// UDP resolves the UDPRoute of that key.
func UDP(v *store.View, in Inputs, key string) Resolved {
	route, ok := in.Objects.UDPRoutes.Get(v, key)
	if !ok {
		return Resolved{}
	}
	s := streamRoute{kind: store.UDPRoute, meta: &route.ObjectMeta, common: route.Spec.CommonRouteSpec, protocol: ir.BackendUDP}
	for i, rule := range route.Spec.Rules {
		s.rules = append(s.rules, rule.BackendRefs)
		if i == 0 {
			s.name = ruleName(rule.Name)
		}
	}
	return in.stream(v, s)
}

// stream resolves the one rule such a route has. Older versions of the standard allow more and give them no meaning.
func (in Inputs) stream(v *store.View, s streamRoute) Resolved {
	b := in.bind(v, subject{kind: string(s.kind), namespace: s.meta.Namespace, spec: s.common, hostnames: s.hostnames})
	if len(b.parents) == 0 {
		return Resolved{}
	}
	name := ir.Name{Namespace: s.meta.Namespace, Name: s.meta.Name}
	w := &ruleProblems{rules: len(s.rules), answer: "they are left out"}
	from := refs.Origin{Kind: string(s.kind), Namespace: s.meta.Namespace}
	stream := &ir.Stream{Route: fmt.Sprintf("%s/%s", s.kind, name)}
	if reason := store.Unreadable(s.meta); reason != "" {
		w.rules, w.invalid, s.rules = 1, []string{notReadable(reason) + "; until then its connections are closed"}, nil
	}
	for i, rule := range s.rules {
		if i > 0 {
			w.invalidRule(i, fmt.Sprintf("a %s has one rule, and only the first is served; write a route for each", s.kind))
			continue
		}
		for j, ref := range rule {
			w.at = place{rule: i, index: j}
			share := ir.StreamBackend{Weight: weight(ref)}
			backend, problem := backend.Resolve(v, in.Objects, from, ref.BackendObjectReference, s.protocol)
			if problem != nil {
				w.unresolvedRef(problem)
			} else {
				share.Backend = backend
				w.used(share.Backend)
			}
			stream.Backends = append(stream.Backends, share)
		}
		if fallbackOf(v, in, stream.Backends) {
			w.invalidRule(i, fmt.Sprintf("a %s has no failover, and one of its backends is a Backend with fallback; remove fallback", s.kind))
		}
	}
	resolved := Resolved{Kind: string(s.kind), Name: name, Created: s.meta.CreationTimestamp.Unix(), Stream: stream}
	if layer := in.policiesOf(v, s.kind, name).Of(s.name); layer != nil {
		resolved.Destination = layer.Destination
	}
	return w.finish(resolved, b, s.meta.Generation)
}
