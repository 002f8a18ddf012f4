package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// notice is for an object, of which proxies of a Gateway refuse something.
type notice struct {
	subject
	gateway string
}

// told is what an object is told: the listeners of a Gateway or ListenerSet that it is about, sorted, and a text.
type told struct {
	listeners []string
	message   string
}

// notices are what objects are to be told. What is refused of one object is told together.
type notices map[notice]told

func (n notices) add(s subject, gateway string, listeners []string, message string) {
	key := notice{s, gateway}
	before := n[key]
	messages := append(strings.Split(before.message, "\n"), message)
	slices.Sort(messages)
	all := append(slices.Clone(before.listeners), listeners...)
	slices.Sort(all)
	n[key] = told{slices.Compact(all), strings.TrimPrefix(strings.Join(slices.Compact(messages), "\n"), "\n")}
}

// publish says what is refused, after the outcomes that it is about.
func (q *quarantine) publish(changes []xds.Change) {
	for _, change := range changes {
		delete(q.resources, refusal{group: change.Group, typ: change.Type, name: change.Name})
	}
	q.release()
	if q.adopt() {
		// What other replicas have in quarantine has come to be wanted here.
		q.again()
	}
	now := q.notices()
	for n := range q.told {
		if _, still := now[n]; !still {
			q.to.Proofs.Accept(n.kind, n.key, n.gateway)
		}
	}
	for n, t := range now {
		q.to.Proofs.Refuse(n.kind, n.key, n.gateway, t.listeners, t.message)
	}
	q.told = now
	q.offer()
}

// notices are for the objects at fault.
func (q *quarantine) notices() notices {
	all := notices{}
	for p, entry := range q.routes {
		q.noticeRoute(all, p, entry)
	}
	for key, entry := range q.filters {
		name, id := splitKey(key)
		instead := "requests are answered 500 until they change"
		switch {
		case entry.good && len(entry.instead) == 0:
			instead = "requests are not checked, as before, until they change"
		case entry.good:
			instead = "those from before are served until they change"
		}
		message := fmt.Sprintf("a proxy of Gateway %s refused the filters of the listener: %s; %s", name, entry.reason, instead)
		for holder, listeners := range q.graph.holders(name, func(l gateway.Listener) bool { return l.ID == id }) {
			all.add(holder, name, listeners, message)
		}
	}
	for r, reason := range q.resources {
		what := r.typ.String()
		if r.typ == xds.Cluster {
			what = "backend"
		}
		q.graph.noticeResource(all, r, fmt.Sprintf("a proxy refused %s %s: %s", what, r.name, reason))
	}
	q.failures.notices(all)
	q.graph.noticeBudgets(all)
	q.graph.noticeEndpoints(all, q.short.get())
	return all
}

// noticeRoute tells a route in quarantine. If it is as it was when it was good, the cause is one of the objects that it has settings from,
// and they are told instead.
func (q *quarantine) noticeRoute(all notices, p place, entry *quarantined) {
	kind, key := splitRouteKey(p.route)
	current, _ := q.graph.routes.Get(nil, p.route)
	generation := current.Outcome.Generation
	origins := entry.refused.Origins(entry.rules)
	elsewhere := entry.level() == lastGood && entry.good.Outcome.Generation == generation && len(origins) > 0
	instead := "its requests are answered 500 until the route changes"
	switch {
	case elsewhere:
		instead = "what was served before still is, until it changes"
	case entry.level() == lastGood:
		instead = fmt.Sprintf("generation %d is served instead, until the route changes", entry.good.Outcome.Generation)
	case entry.level() == leftOut:
		instead = "the route is left out until it changes"
	}
	if !elsewhere {
		all.add(subject{kind, key}, p.gateway, nil, fmt.Sprintf(
			"a proxy of Gateway %s refused generation %d: %s; %s", p.gateway, generation, entry.reason, instead))
	}
	if entry.level() == lastGood && !elsewhere {
		return
	}
	for _, origin := range origins {
		of, name := splitRouteKey(origin)
		all.add(subject{of, name}, p.gateway, nil, fmt.Sprintf(
			"a proxy of Gateway %s refused what %s %s has from it: %s; %s", p.gateway, kind, key, entry.reason, instead))
	}
}

// noticeResource tells the objects that a cluster, listener or secret of a group belongs to.
func (g *graph) noticeResource(all notices, r refusal, message string) {
	for _, name := range g.served(r.group) {
		if r.typ == xds.Cluster {
			g.noticeCluster(all, name, r.name, message)
			continue
		}
		for holder, listeners := range g.holders(name, func(l gateway.Listener) bool { return r.concerns(name, l) }) {
			all.add(holder, name, listeners, message)
		}
	}
}

// noticeCluster tells the routes that use a backend at a Gateway, and the objects that the backend has settings from.
func (g *graph) noticeCluster(all notices, gateway, backend, message string) {
	for _, key := range g.byGatewayBackend.Keys(nil, route.BackendKey(gateway, backend)) {
		kind, own := splitRouteKey(key)
		all.add(subject{kind, own}, gateway, nil, message)
	}
	for _, origin := range g.clusterOrigins(backend) {
		all.add(origin, gateway, nil, message)
	}
}

// clusterOrigins are the objects that a cluster has settings from, beside the Service.
func (g *graph) clusterOrigins(name string) []subject {
	var origins []string
	if tls, _ := g.tls.byBackend.Get(nil, name); tls != nil {
		origins = append(origins, tls.Origin)
	}
	if budget, _ := g.retryBudgets.Get(nil, name); budget != nil {
		origins = append(origins, budget.Origin)
	}
	if backend, ok := ir.ParseBackend(name); ok && backend.XBackend {
		origins = append(origins, backend.Target())
	}
	var subjects []subject
	for _, origin := range origins {
		if kind, key := splitRouteKey(origin); key != "" {
			subjects = append(subjects, subject{kind, key})
		}
	}
	return subjects
}

// holders are the listeners of a Gateway that something is about, by what they are written in.
func (g *graph) holders(name string, about func(gateway.Listener) bool) map[subject][]string {
	resolved, _ := g.gateways.Get(nil, name)
	affected := map[subject][]string{}
	for _, l := range resolved.Listeners {
		if !about(l) {
			continue
		}
		holder := subject{store.Gateway, name}
		if l.Set != "" {
			holder = subject{store.ListenerSet, l.Set}
		}
		affected[holder] = append(affected[holder], l.Name)
	}
	return affected
}

// concerns says whether a listener or secret is what a listener of a Gateway became, or needs.
func (r refusal) concerns(gateway string, l gateway.Listener) bool {
	if r.typ == xds.Secret {
		return slices.Contains(l.Certificates, r.name) || l.Clients != nil && l.Clients.Authorities == r.name
	}
	id, ours := strings.CutPrefix(r.name, gateway+"/")
	port, udp := strings.CutSuffix(id, "/udp")
	return ours && fmt.Sprint(l.Port) == port && (l.Protocol == "UDP") == udp
}
