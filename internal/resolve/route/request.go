package route

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// requestRoute is what the routes that forward single requests come down to.
type requestRoute struct {
	kind      store.Kind
	meta      *metav1.ObjectMeta
	common    gwv1.CommonRouteSpec
	hostnames []gwv1.Hostname
	rules     []requestRule
	// protocol is what backends are spoken to in that do not say.
	protocol ir.BackendProtocol
}

// requestRule is one rule of either kind.
type requestRule struct {
	matches []ir.Match
	// segments are, for each match of a GRPCRoute, the expressions for service and method that its path consists of, if they are expressions.
	segments [][]string
	filters  []gwv1.HTTPRouteFilter
	backends []backendRef
	sessions *gwv1.SessionPersistence
	// complete adds what only one of the kinds has. Of what can not be served it returns a message.
	complete func(forward *ir.Forward) string
}

func (r requestRule) segmentsOf(match int) []string {
	if match >= len(r.segments) {
		return nil
	}
	return r.segments[match]
}

// requests resolves a route that forwards single requests.
func (in Inputs) requests(v *store.View, route requestRoute) Resolved {
	kind, namespace := string(route.kind), route.meta.Namespace
	b := in.bind(v, subject{kind: kind, namespace: namespace, spec: route.common, hostnames: route.hostnames})
	if len(b.parents) == 0 {
		return Resolved{}
	}
	name := ir.Name{Namespace: namespace, Name: route.meta.Name}
	w := &verdicts{rules: len(route.rules)}
	r := &resolver{in: in, view: v, verdicts: w, protocol: route.protocol, from: refs.Origin{Kind: kind, Namespace: namespace}, expressions: expressions{limits: in.Objects.Limits}}
	resolved := Resolved{Kind: kind, Name: name, Created: route.meta.CreationTimestamp.Unix()}
	for i, rule := range route.rules {
		resolved.Rules = append(resolved.Rules, r.rule(fmt.Sprintf("%s/%s/%d", kind, name, i), i, rule)...)
	}
	resolved.Expressions = r.expressions.size
	return w.finish(resolved, b, route.meta.Generation)
}

func (r *resolver) rule(name string, index int, rule requestRule) []Rule {
	r.verdicts.at.rule = index
	a, message := r.action(rule.filters, rule.backends)
	if message == "" && a.forward != nil {
		message = rule.complete(a.forward)
	}
	if message == "" {
		message = keepSessions(rule.sessions, name, &a)
	}
	return r.rules(name, index, rule, a, message)
}
