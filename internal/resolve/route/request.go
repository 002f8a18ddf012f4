package route

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/expression"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
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
	matches  []requestMatch
	filters  []gwv1.HTTPRouteFilter
	backends []backendRef
	sessions *gwv1.SessionPersistence
	// name is by which policies target the rule, empty if it has none.
	name string
	// wide says that it has conditions which are not known, so that it cannot be served. It comes before all others with its path.
	wide bool
	// complete adds what only one of the kinds has. Of what cannot be served it returns a message.
	complete func(a *action) string
}

// requests resolves a route that forwards single requests.
func (in Inputs) requests(v *store.View, route requestRoute) Resolved {
	kind, namespace := string(route.kind), route.meta.Namespace
	b := in.bind(v, subject{kind: kind, namespace: namespace, spec: route.common, hostnames: route.hostnames})
	if len(b.parents) == 0 {
		return Resolved{}
	}
	name := ir.Name{Namespace: namespace, Name: route.meta.Name}
	w := &ruleProblems{rules: len(route.rules)}
	target, _ := inherit.RouteTarget(store.KindKey(route.kind, name.String()), "")
	r := &resolver{
		layers: in.policiesOf(v, route.kind, name), target: target,
		in: in, view: v, problems: w, protocol: route.protocol, from: refs.Origin{Kind: kind, Namespace: namespace},
		expressions: expressions{expression.Budget{Limits: in.Objects.Limits}},
	}
	resolved := Resolved{Kind: kind, Name: name, Created: route.meta.CreationTimestamp.Unix()}
	for i, rule := range route.rules {
		resolved.Rules = append(resolved.Rules, r.rule(fmt.Sprintf("%s/%s/%d", kind, name, i), i, rule)...)
	}
	in.measure(resolved.Rules)
	resolved.Expressions, resolved.rejected = r.expressions.Size(), r.rejected
	resolved.guarded = in.guardsOf(v, route)
	return w.finish(resolved, b, route.meta.Generation)
}

func (r *resolver) rule(name string, index int, rule requestRule) []Rule {
	r.problems.at.rule = index
	rule, many := r.in.withConditions(r.view, r.from, rule)
	a, message := r.action(rule.filters, rule.backends)
	message = cmp.Or(message, many)
	if message == "" && a.forward != nil {
		message = rule.complete(&a)
	}
	if message == "" {
		message = r.besidePicker(rule, &a)
	}
	if message == "" {
		message = keepSessions(rule.sessions, name, &a)
	}
	if message == "" {
		message = r.inherit(rule.name, &a)
	}
	if a.forward != nil {
		a.destination = a.destination.WithCredential(a.credential)
	}
	return r.rules(name, index, rule, a, message)
}
