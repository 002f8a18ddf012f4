package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// maxRefusals bounds what is remembered of refusals between two steps. A proxy that is not heard refuses again.
const maxRefusals = 1024

// refusal is what a proxy does not take: a route, or a resource of those whom it serves.
type refusal struct {
	subject
	group string
	typ   xds.Type
	name  string
}

// Refused takes in what a proxy of a Gateway does not take. It never blocks.
func (p *Pipeline) Refused(proxy xds.Identity, r xds.Refusal) {
	switch r.Type {
	case xds.VirtualHost:
		for _, name := range r.Routes {
			if kind, key, ok := routeOf(name); ok {
				p.config.inbox.refuse(refusal{subject: subject{kind, key}}, r.Reason)
			}
		}
	case xds.Cluster, xds.Listener, xds.Secret:
		p.config.inbox.refuse(refusal{group: proxy.Gateway, typ: r.Type, name: r.Name}, r.Reason)
	default:
		// Endpoints belong to no object of the Gateway API, and of a whole table nothing was found to be the cause. The server has logged it.
	}
}

// routeOf is the object that a rule comes from; see the Name of an ir.Rule.
func routeOf(rule string) (store.Kind, string, bool) {
	parts := strings.Split(rule, "/")
	if len(parts) < 3 {
		return "", "", false
	}
	return store.Kind(parts[0]), store.Key(parts[1], parts[2]), true
}

// quarantine stands where objects come in. A route whose present version a proxy refuses is replaced by the last version that was live, or left out if none
// was, until it changes; no stage behind it has to know. What a proxy refuses as a whole, clusters, listeners and secrets, the xDS server itself
// replaces by the last good one; here it is traced to the objects to be told.
type quarantine struct {
	graph  *graph
	proofs Proofs
	// good is the last version of a route that was live, while a newer one is not proved.
	good map[subject]metav1.Object
	// aside are the routes that are refused in their present version.
	aside map[subject]struct{}
	// told are the objects that were told of a refused resource.
	told map[refusal][]subject
	// news is what is to be said after the next step.
	news []func()
	gone []subject
}

func newQuarantine(g *graph, proofs Proofs) *quarantine {
	return &quarantine{
		graph: g, proofs: proofs, good: map[subject]metav1.Object{}, aside: map[subject]struct{}{}, told: map[refusal][]subject{},
	}
}

// apply brings changes and refusals into the objects.
func (q *quarantine) apply(b batch) {
	if len(q.good) > 0 {
		q.forgetGood()
	}
	for _, c := range b.changes {
		if q.graph.objects.IsRoute(c.Kind) {
			q.admit(c)
		}
		q.graph.objects.Apply(c)
	}
	for r, reason := range b.refused {
		if r.subject != (subject{}) {
			q.setAside(r.subject, reason)
		} else {
			q.trace(r, reason)
		}
	}
}

// forgetGood lets go of the versions whose successors are live.
func (q *quarantine) forgetGood() {
	maps.DeleteFunc(q.good, func(s subject, _ metav1.Object) bool {
		_, aside := q.aside[s]
		return !aside && q.proofs.Live(s.kind, s.key)
	})
	if len(q.good) == 0 {
		// A map never gets smaller, and going through an empty one costs what it once held.
		q.good = map[subject]metav1.Object{}
	}
}

// admit gives a changed route another chance.
func (q *quarantine) admit(c store.Change) {
	s := subject{c.Kind, c.Key}
	current := q.graph.objects.Route(c.Kind, c.Key)
	_, aside := q.aside[s]
	delete(q.aside, s)
	switch {
	case c.Object == nil:
		delete(q.good, s)
		if aside && current == nil {
			q.gone = append(q.gone, s)
		}
	case current != nil && !aside && q.proofs.Live(c.Kind, c.Key):
		q.good[s] = current
	}
}

// setAside replaces a route by its last good version.
func (q *quarantine) setAside(s subject, reason string) {
	current := q.graph.objects.Route(s.kind, s.key)
	if _, already := q.aside[s]; already || current == nil {
		return
	}
	message := fmt.Sprintf("a proxy refused generation %d: %s", current.GetGeneration(), reason)
	if good := q.good[s]; good != nil {
		message += fmt.Sprintf("; generation %d is served instead, until the route changes", good.GetGeneration())
	} else {
		message += "; the route is left out until it changes"
	}
	q.aside[s] = struct{}{}
	q.graph.objects.Apply(store.Change{Kind: s.kind, Key: s.key, Object: q.good[s]})
	q.news = append(q.news, func() { q.proofs.Refuse(s.kind, s.key, nil, message) })
}

// trace tells the objects that a refused resource belongs to.
func (q *quarantine) trace(r refusal, reason string) {
	tell := func(s subject, listeners []string, message string) {
		q.told[r] = append(q.told[r], s)
		q.news = append(q.news, func() { q.proofs.Refuse(s.kind, s.key, listeners, message) })
	}
	q.told[r] = nil
	for _, name := range q.graph.served(r.group) {
		if r.typ == xds.Cluster {
			for _, key := range q.graph.byGatewayBackend.Keys(nil, route.BackendKey(name, r.name)) {
				kind, name := splitRouteKey(key)
				tell(subject{kind, name}, nil, fmt.Sprintf("a proxy refused backend %s: %s", r.name, reason))
			}
			continue
		}
		for holder, listeners := range q.graph.concerned(r, name) {
			tell(holder, listeners, fmt.Sprintf("a proxy refused %s %s: %s", r.typ, r.name, reason))
		}
	}
}

// concerned are the listeners of a Gateway, by what they are written in, that a listener or secret is for.
func (g *graph) concerned(r refusal, name string) map[subject][]string {
	resolved, _ := g.gateways.Get(nil, name)
	affected := map[subject][]string{}
	for _, l := range resolved.Listeners {
		if !r.concerns(name, l) {
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

// publish says what the last step brought, after the outcomes that it is about.
func (q *quarantine) publish(changes []xds.Change) {
	for _, change := range changes {
		r := refusal{group: change.Group, typ: change.Type, name: change.Name}
		for _, s := range q.told[r] {
			q.proofs.Accept(s.kind, s.key)
		}
		delete(q.told, r)
	}
	for _, say := range q.news {
		say()
	}
	q.news = nil
}

// passing lets through what is said of all objects but those set aside: of these the outcome of the refused version holds.
func (q *quarantine) passing(statuses Statuses) Statuses {
	for _, s := range q.gone {
		statuses.Forget(s.kind, s.key)
	}
	q.gone = nil
	return passing{statuses, q.aside}
}

type passing struct {
	Statuses
	aside map[subject]struct{}
}

// SetRoute says what became of a route, unless that is not its present version.
func (p passing) SetRoute(kind store.Kind, key string, o outcome.Route) {
	if _, aside := p.aside[subject{kind, key}]; !aside {
		p.Statuses.SetRoute(kind, key, o)
	}
}

// Forget drops what was to be said of an object, unless it is only left out.
func (p passing) Forget(kind store.Kind, key string) {
	if _, aside := p.aside[subject{kind, key}]; !aside {
		p.Statuses.Forget(kind, key)
	}
}
