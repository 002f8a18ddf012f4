package pipeline

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// Offline computes everything once from objects, and hands out nothing.
func Offline(objects []store.Change, options ...Option) *Pipeline {
	p := New(Outputs{}, prometheus.NewRegistry(), options...)
	p.endpoints.publish = func(batch, memo.Report) {
		for _, of := range p.assignments.Keys(nil) {
			t, _ := p.assignments.Get(nil, of)
			p.idle.note(of, t.idle)
		}
	}
	p.config.publish = func(batch, memo.Report) {}
	for _, o := range objects {
		p.Put(o)
	}
	p.Start()
	return p
}

// Explainable is what proxies serve after the last step, for [explain.Explain]. No step may run meanwhile.
func (p *Pipeline) Explainable() explain.Config {
	g := p.graph
	c := explain.Config{
		Hosts: map[ir.HostID]ir.VirtualHost{}, Endpoints: map[ir.Endpoints]int{}, Refused: map[ir.Backend]string{},
	}
	for _, key := range g.gateways.Keys(nil) {
		if r := g.effectiveGateway(nil)(key); r.Ours {
			c.Gateways = append(c.Gateways, g.explainable(key, r.Gateway))
		}
	}
	for _, id := range g.hosts.Keys(nil) {
		c.Hosts[id], _ = g.hosts.Get(nil, id)
	}
	for _, of := range p.assignments.Keys(nil) {
		t, _ := p.assignments.Get(nil, of)
		c.Endpoints[of] = t.count
	}
	for _, user := range g.clusters.Keys(nil) {
		if problem := g.refusedBackend(nil, user.Backend); problem != nil {
			c.Refused[user.Backend] = problem.Message
		}
	}
	c.Routes = g.explainableRoutes()
	return c
}

func (g *graph) explainable(key string, gateway ir.Gateway) explain.Gateway {
	e := explain.Gateway{Name: gateway.Name}
	closed := g.closedChains(key)
	for _, port := range gateway.Ports {
		id := ir.PortID{Gateway: key, Port: port.ID()}
		p, invalid := g.servedPort(nil, id)
		texts := closed[id]
		if t, _ := g.listeners.Get(nil, id); t.keeps() {
			p, _ = g.ports.Get(nil, id)
			invalid, texts = nil, nil
		}
		e.Ports = append(e.Ports, p)
		for _, chain := range slices.Sorted(maps.Keys(texts)) {
			e.Problems = append(e.Problems, fmt.Sprintf("listener %s: %s", chain, texts[chain].route))
		}
		for _, part := range invalid {
			e.Problems = append(e.Problems, fmt.Sprintf("listener %s: %s", part.Owner, chainMessage(p.Protocol, part.Reason)))
		}
	}
	status, _ := g.gatewayStatus.Get(nil, key)
	for _, a := range status.outcome.Addresses {
		e.Addresses = append(e.Addresses, a.Value)
	}
	for _, l := range status.outcome.Listeners {
		for _, problem := range problemsOf(l.Conditions) {
			e.Problems = append(e.Problems, fmt.Sprintf("listener %s: %s", l.Name, problem))
		}
	}
	return e
}

// explainableRoutes are the routes of requests, sorted.
func (g *graph) explainableRoutes() []explain.Route {
	var routes []explain.Route
	add := func(kind store.Kind, key string, hostnames []gwv1.Hostname, parents []gwv1.ParentReference) {
		r := explain.Route{Object: ir.ObjectRef{Kind: string(kind), Name: ir.ParseName(key)}}
		for _, h := range hostnames {
			r.Hostnames = append(r.Hostnames, string(h))
		}
		status, _ := g.routeStatus.Get(nil, string(kind)+"/"+key)
		r.Problems = routeProblems(status)
		resolved, _ := g.routes.Get(nil, string(kind)+"/"+key)
		r.Attached = len(resolved.Attachments) > 0
		if len(status.Parents) == 0 {
			r.Problems = []string{"it has no parent here: " + g.unknownParents(r.Object.Name.Namespace, parents)}
		}
		routes = append(routes, r)
	}
	for _, key := range g.objects.HTTPRoutes.Keys(nil) {
		r, _ := g.objects.HTTPRoutes.Get(nil, key)
		add(store.HTTPRoute, key, r.Spec.Hostnames, r.Spec.ParentRefs)
	}
	for _, key := range g.objects.GRPCRoutes.Keys(nil) {
		r, _ := g.objects.GRPCRoutes.Get(nil, key)
		add(store.GRPCRoute, key, r.Spec.Hostnames, r.Spec.ParentRefs)
	}
	slices.SortFunc(routes, func(a, b explain.Route) int { return a.Object.Compare(b.Object) })
	return routes
}

// routeProblems are the conditions of a route that are False where they should be True.
func routeProblems(status outcome.Route) []string {
	var problems []string
	for _, parent := range status.Parents {
		problems = append(problems, problemsOf(parent.Conditions)...)
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// problemsOf are the conditions that say why an object is not served, in words. Whether proxies have it is not known here.
func problemsOf(conditions []outcome.Condition) []string {
	var problems []string
	for _, c := range conditions {
		bad := c.State == outcome.False && (c.Type == string(gwv1.RouteConditionAccepted) || c.Type == string(gwv1.RouteConditionResolvedRefs)) ||
			c.State == outcome.True && c.Type == string(gwv1.ListenerConditionConflicted)
		if bad {
			problems = append(problems, fmt.Sprintf("%s=%s %s: %s", c.Type, c.State, c.Reason, c.Message))
		}
	}
	return problems
}

// unknownParents names the parents of a route that no Gateway of ours is.
func (g *graph) unknownParents(namespace string, parents []gwv1.ParentReference) string {
	text := "parentRefs"
	for i, ref := range parents {
		if ref.Namespace != nil {
			namespace = string(*ref.Namespace)
		}
		name := ir.Name{Namespace: namespace, Name: string(ref.Name)}
		what := "is not of a class of this controller"
		if _, ok := g.objects.Gateways.Get(nil, name.String()); !ok && (ref.Kind == nil || *ref.Kind == "Gateway") {
			what = "does not exist"
		}
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %s %s", name, what)
	}
	return text
}
