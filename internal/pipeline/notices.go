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

// notice is for an object, of which proxies of a Gateway refuse something. Listeners are those of a Gateway or ListenerSet that it is about, one on each line.
type notice struct {
	subject
	gateway, listeners string
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
	notices := q.notices()
	for n := range q.told {
		if _, still := notices[n]; !still {
			q.to.Proofs.Accept(n.kind, n.key, n.gateway)
		}
	}
	for n, message := range notices {
		q.to.Proofs.Refuse(n.kind, n.key, n.gateway, strings.FieldsFunc(n.listeners, func(r rune) bool { return r == '\n' }), message)
	}
	q.told = notices
	q.offer()
	for r := range q.hosts {
		q.to.Proxies.Excuse(r.group, xds.Refusal{Type: xds.VirtualHost, Table: r.table, Name: r.name, Version: r.version})
	}
}

// notices are for the objects at fault.
func (q *quarantine) notices() map[notice]string {
	notices := map[notice]string{}
	for p, entry := range q.routes {
		q.noticeRoute(notices, p, entry)
	}
	for key, entry := range q.filters {
		name, id := splitKey(key)
		message := fmt.Sprintf("a proxy of Gateway %s refused the filters of the listener: %s; requests are answered 500 until they change", name, entry.reason)
		if entry.good {
			message = fmt.Sprintf("a proxy of Gateway %s refused the filters of the listener: %s; those from before are served until they change", name, entry.reason)
		}
		for holder, listeners := range q.graph.holders(name, func(l gateway.Listener) bool { return l.ID == id }) {
			notices[notice{holder, name, strings.Join(listeners, "\n")}] = message
		}
	}
	for r, reason := range q.hosts {
		message := fmt.Sprintf("a proxy of Gateway %s refused host %s: %s; it goes on with what it had", route.GatewayOf(r.table), r.name, reason)
		if r.together {
			message += "; each rule alone is accepted"
		}
		for name := range strings.SplitSeq(r.routes, "\n") {
			if kind, key, ok := routeOf(name); ok {
				notices[notice{subject: subject{kind, key}, gateway: route.GatewayOf(r.table)}] = message
			}
		}
	}
	for r, reason := range q.resources {
		q.noticeResource(notices, r, reason)
	}
	return notices
}

// noticeRoute tells a route in quarantine. If it is as it was when it was good, the cause is one of the objects that it has settings from, and they are told instead.
func (q *quarantine) noticeRoute(notices map[notice]string, p place, entry *quarantined) {
	kind, key := splitRouteKey(p.route)
	generation := entry.refused.Outcome.Generation
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
		notices[notice{subject: subject{kind, key}, gateway: p.gateway}] = fmt.Sprintf(
			"a proxy of Gateway %s refused generation %d: %s; %s", p.gateway, generation, entry.reason, instead)
	}
	if entry.level() == lastGood && !elsewhere {
		return
	}
	for _, origin := range origins {
		of, name := splitRouteKey(origin)
		notices[notice{subject: subject{of, name}, gateway: p.gateway}] = fmt.Sprintf(
			"a proxy of Gateway %s refused what %s %s has from it: %s; %s", p.gateway, kind, key, entry.reason, instead)
	}
}

// noticeResource tells the objects that a refused cluster, listener or secret belongs to.
func (q *quarantine) noticeResource(notices map[notice]string, r refusal, reason string) {
	for _, name := range q.graph.served(r.group) {
		if r.typ != xds.Cluster {
			for holder, listeners := range q.graph.holders(name, func(l gateway.Listener) bool { return r.concerns(name, l) }) {
				notices[notice{holder, name, strings.Join(listeners, "\n")}] = fmt.Sprintf("a proxy refused %s %s: %s", r.typ, r.name, reason)
			}
			continue
		}
		message := fmt.Sprintf("a proxy refused backend %s: %s", r.name, reason)
		for _, key := range q.graph.byGatewayBackend.Keys(nil, route.BackendKey(name, r.name)) {
			kind, own := splitRouteKey(key)
			notices[notice{subject: subject{kind, own}, gateway: name}] = message
		}
		for _, origin := range q.graph.clusterOrigins(r.name) {
			notices[notice{subject: origin, gateway: name}] = message
		}
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
