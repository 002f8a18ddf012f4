package route

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/expression"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// unreadable is a route of which only the parents, the hostnames and the matches can be read, at best. It keeps its requests and answers
// errors: what it was to check them for is not known. Without its matches it closes its hostnames.
func (in Inputs) unreadable(v *store.View, route requestRoute, reason string) Resolved {
	kind, namespace := string(route.kind), route.meta.Namespace
	b := in.bind(v, subject{kind: kind, namespace: namespace, spec: route.common, hostnames: route.hostnames})
	if len(b.parents) == 0 {
		return Resolved{}
	}
	name := ir.Name{Namespace: namespace, Name: route.meta.Name}
	w := &ruleProblems{rules: 1}
	w.invalid = []string{notReadable(reason) + fmt.Sprintf("; until then its requests are answered %d", failure(kind).StatusCode)}
	resolved := Resolved{Kind: kind, Name: name, Created: route.meta.CreationTimestamp.Unix()}
	resolved.Rules, resolved.Expressions = in.closedRules(v, route, name)
	return w.finish(resolved, b, route.meta.Generation)
}

func notReadable(reason string) string {
	return "the route cannot be read; correct it, or install the definitions that belong to this version of Gatewright: " + reason
}

// closedRules are errors for all requests that the matches of a route may mean, or for all of its hostnames if there are no rules.
func (in Inputs) closedRules(v *store.View, route requestRoute, name ir.Name) (rules []Rule, size int) {
	kind := string(route.kind)
	from := refs.Origin{Kind: kind, Namespace: name.Namespace}
	e := expressions{expression.Budget{Limits: in.Objects.Limits}}
	for i, rule := range route.rules {
		rule, _ = in.withConditions(v, from, rule)
		for j, m := range rule.matches {
			matchName := fmt.Sprintf("%s/%s/%d/%d", kind, name, i, j)
			match := placedMatch{m.Match, rankOf(m.Match)}
			before := e
			if checkMatch(m, &e) != "" {
				e = before
				wide, possible := e.meant(m)
				if m.anyPath {
					rules = append(rules, restOf(kind, matchName))
				}
				if !possible {
					continue
				}
				match = wide
			}
			closed := failing(kind).rule(matchName, match.Match).at(match.place)
			if rule.wide {
				closed = closed.at(closed.rank.first())
			}
			rules = append(rules, closed)
		}
	}
	if len(route.rules) == 0 {
		rules = []Rule{closedHostnames(kind, name)}
	}
	return rules, e.Size()
}

// closedHostnames closes the hostnames of a route of which nothing else is known: see [Rule.Rest].
func closedHostnames(kind string, name ir.Name) Rule {
	return restOf(kind, fmt.Sprintf("%s/%s/0/0", kind, name))
}

// restOf is the rule of that name for requests that are not known.
func restOf(kind, name string) Rule {
	rule := failing(kind).rule(name, ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}})
	rule.Rest = true
	return rule.at(rank{kind: rankLast})
}

// requestRouteOf is a route for single requests as it is resolved.
func (in Inputs) requestRouteOf(v *store.View, kind store.Kind, key string) (requestRoute, bool) {
	switch kind { //nolint:exhaustive // the others forward whole connections
	case store.HTTPRoute:
		if route, ok := in.Objects.HTTPRoutes.Get(v, key); ok {
			return httpRequests(route), true
		}
	case store.GRPCRoute:
		if route, ok := in.Objects.GRPCRoutes.Get(v, key); ok {
			return grpcRequests(route), true
		}
	}
	return requestRoute{}, false
}

func httpRequests(route *gwv1.HTTPRoute) requestRoute {
	r := requestRoute{
		kind: store.HTTPRoute, meta: &route.ObjectMeta, common: route.Spec.CommonRouteSpec,
		hostnames: route.Spec.Hostnames, protocol: ir.BackendHTTP1,
	}
	for i := range route.Spec.Rules {
		r.rules = append(r.rules, httpRule(&route.Spec.Rules[i]))
	}
	return r
}

func grpcRequests(route *gwv1.GRPCRoute) requestRoute {
	r := requestRoute{
		kind: store.GRPCRoute, meta: &route.ObjectMeta, common: route.Spec.CommonRouteSpec,
		hostnames: route.Spec.Hostnames, protocol: ir.BackendHTTP2,
	}
	for i := range route.Spec.Rules {
		r.rules = append(r.rules, grpcRule(&route.Spec.Rules[i]))
	}
	return r
}
