package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/resolve/client"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// notice is for an object of which the proxies of a Gateway reject a part.
type notice struct {
	subject
	gateway string
}

// notices are what objects report. An object reports all its problems together.
type notices map[notice]*lines

// lines are the messages about an object, and about listeners of it.
type lines struct {
	object    []string
	listeners map[string][]string
}

// add adds a message about an object, or about listeners of it if there are any.
func (n notices) add(s subject, gateway string, listeners []string, message string) {
	all := n[notice{s, gateway}]
	if all == nil {
		all = &lines{}
		n[notice{s, gateway}] = all
	}
	if len(listeners) == 0 {
		all.object = append(all.object, message)
	}
	for _, name := range listeners {
		if all.listeners == nil {
			all.listeners = map[string][]string{}
		}
		all.listeners[name] = append(all.listeners[name], message)
	}
}

// maxLines limits the lines of a text. A condition has room for about a hundred.
const maxLines = 32

// text is the messages, sorted, each once on a line of its own. Of many it is the first ones, and how many more there are.
func text(messages []string) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(messages)))
	if more := len(sorted) - maxLines; more > 0 {
		sorted = append(sorted[:maxLines], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(sorted, "\n")
}

// rejection is what is reported.
func (l *lines) rejection() outcome.Rejection {
	r := outcome.Rejection{Message: text(l.object)}
	for name, messages := range l.listeners {
		if r.Listeners == nil {
			r.Listeners = map[string]string{}
		}
		r.Listeners[name] = text(messages)
	}
	return r
}

// publishNotices reports what proxies reject, stages that fail and limits, after the outcomes that they are about.
func (p *Pipeline) publishNotices(changes []xds.Change) {
	p.quarantine.Update(changes)
	now := p.notices()
	for n := range p.noticed {
		if _, still := now[n]; !still {
			p.to.Convergence.Accept(n.kind, n.key, n.gateway)
		}
	}
	for n, r := range now {
		p.to.Convergence.Reject(n.kind, n.key, n.gateway, r.rejection())
	}
	p.noticed = now
	p.quarantine.Offer()
}

// notices returns what the objects at fault report.
func (p *Pipeline) notices() notices {
	all := notices{}
	p.quarantine.Notices(func(n quarantine.Notice) { all.add(subject{n.Kind, n.Key}, n.Gateway, n.Listeners, n.Message) })
	for r, report := range p.quarantine.Resources() {
		what, instead := r.Type.String(), "; what proxies served there before still is, if anything was"
		if r.Type == xds.Cluster {
			what, instead = "backend", ""
		}
		id := resourceID{group: r.Group, typ: r.Type, name: r.Name}
		message := fmt.Sprintf("a proxy rejected (NACK) %s %s: %s%s", what, r.Name, report.Reason, instead)
		p.graph.noticeResource(all, id, report.Origins, message)
	}
	p.failures.notices(all)
	p.graph.noticeBudgets(all)
	p.graph.noticeEndpoints(all, p.short.get())
	p.graph.noticeRoutes(all)
	return all
}

// noticeRoutes adds a notice for the routes of each listener that has one. A route is programmed only where a listener is that serves it.
func (g *graph) noticeRoutes(all notices) {
	gateways := map[string]bool{}
	for n, r := range all {
		if len(r.listeners) > 0 && (n.kind == store.Gateway || n.kind == store.ListenerSet) {
			gateways[n.gateway] = true
		}
	}
	for name := range gateways {
		resolved, _ := g.gateways.Get(nil, name)
		for i := range resolved.Listeners {
			l := &resolved.Listeners[i]
			owner := l.Owner(name)
			r := all[notice{subject{owner.Kind, owner.Key}, name}]
			if r == nil || r.listeners[l.Name] == nil {
				continue
			}
			message := fmt.Sprintf("listener %s of %s %s is not programmed: %s; correct the listener, its certificates or the policies on it, "+
				"see its conditions", l.Name, owner.Kind, owner.Key, text(r.listeners[l.Name]))
			for _, key := range g.byListener.Keys(nil, ir.ListenerID{Gateway: name, Listener: l.ID}) {
				kind, own := store.SplitKindKey(key)
				all.add(subject{kind, own}, name, []string{l.ID}, message)
			}
		}
	}
}

// resourceID names a resource of a group. The table is that of a virtual host.
type resourceID struct {
	group xds.GroupID
	typ   xds.Type
	name  string
	table string
}

// noticeResource adds a notice for the objects that use a cluster, listener or secret of a group, and for those that it comes from.
func (g *graph) noticeResource(all notices, r resourceID, origins []ir.ObjectRef, message string) {
	for _, name := range g.served(r.group) {
		if r.typ == xds.Listener && ir.ParsePortName(r.name).Gateway != name {
			continue
		}
		for _, origin := range origins {
			all.add(subject{store.Kind(origin.Kind), origin.Name.String()}, name, nil, message)
		}
		if r.typ == xds.Cluster {
			backend, _ := ir.ParseBackend(r.name)
			g.noticeUsers(all, ir.GatewayBackend{Gateway: name, Backend: backend}, message)
			continue
		}
		if r.typ == xds.Secret {
			g.noticeSecret(all, ir.GatewaySecret{Gateway: name, Secret: r.name}, message)
		}
		resolved, _ := g.gateways.Get(nil, name)
		settings, _ := g.clientSettings.Get(nil, name)
		concerned := func(l gateway.Listener) bool { return r.concerns(name, l) || r.isNeededBy(settings, l) }
		for owner, listeners := range resolved.Owners(concerned) {
			all.add(subject{owner.Kind, owner.Key}, name, listeners, message)
		}
	}
}

// noticeSecret adds a notice for the routes that need a secret themselves, or for a backend.
func (g *graph) noticeSecret(all notices, id ir.GatewaySecret, message string) {
	for _, key := range g.secretUsers.routes.Keys(nil, id) {
		kind, own := store.SplitKindKey(key)
		all.add(subject{kind, own}, id.Gateway, nil, message)
	}
	for _, user := range g.backendsOfSecret(id) {
		g.noticeUsers(all, user, message)
	}
}

// backendsOfSecret are the backends that need a secret.
func (g *graph) backendsOfSecret(id ir.GatewaySecret) []ir.GatewayBackend {
	var users []ir.GatewayBackend
	for _, key := range slices.Concat(g.secretUsers.authorities.Keys(nil, id), g.secretUsers.certificates.Keys(nil, id)) {
		users = append(users, ir.ParseGatewayBackend(key))
	}
	return users
}

// noticeUsers adds a notice for the routes that use a backend at a Gateway.
func (g *graph) noticeUsers(all notices, user ir.GatewayBackend, message string) {
	for _, key := range g.byGatewayBackend.Keys(nil, user) {
		kind, own := store.SplitKindKey(key)
		all.add(subject{kind, own}, user.Gateway, nil, message)
	}
}

// noticeCluster adds a notice for the routes that use a backend at a Gateway, and for the objects that the backend has settings from.
func (g *graph) noticeCluster(all notices, user ir.GatewayBackend, message string) {
	g.noticeUsers(all, user, message)
	for _, origin := range g.clusterOrigins(user) {
		all.add(subject{store.Kind(origin.Kind), origin.Name.String()}, user.Gateway, nil, message)
	}
}

// clusterOrigins returns the objects that a cluster has settings from, besides the Service.
func (g *graph) clusterOrigins(user ir.GatewayBackend) []ir.ObjectRef {
	backend := user.Backend
	var destination ir.DestinationPolicy
	destination.TLS, _ = g.tls.byBackend.Get(nil, backend)
	destination.RetryBudget, _ = g.retryBudgets.Get(nil, backend)
	origins := append(destination.Origins(), g.destinationOrigins(user)...)
	switch backend.Kind {
	case ir.KindXBackend, ir.KindBackend, ir.KindInferencePool:
		origins = append(origins, backend.Target().Ref())
	case ir.KindService, ir.KindServiceImport, ir.KindFailover:
	}
	return origins
}

// concerns reports whether a listener of a Gateway is translated to this listener, or needs this secret or route table.
func (r resourceID) concerns(gateway string, l gateway.Listener) bool {
	switch r.typ { //nolint:exhaustive // of other types there are no notices by listener
	case xds.Secret:
		return slices.Contains(l.Certificates, ir.CertificateKey(r.name)) || l.Clients != nil && l.Clients.Authorities == r.name
	case xds.RouteTable:
		return !l.Table.IsZero() && l.Table.String() == r.name
	}
	port := ir.PortID{Gateway: gateway, Port: ir.Port{Number: l.Port, Protocol: l.Protocol}.ID()}
	return r.name == port.ListenerName() || l.Protocol == ir.HTTPS && r.name == port.OfQUIC().ListenerName()
}

// isNeededBy reports whether policies have a listener need this secret.
func (r resourceID) isNeededBy(settings client.Effective, l gateway.Listener) bool {
	at := client.ChainKey{Port: ir.Port{Number: l.Port, Protocol: l.Protocol}.ID(), Chain: l.ID}
	p := settings.Chains[at]
	return r.typ == xds.Secret && l.Terminates && l.Clients == nil && p != nil && p.TLS.Clients != nil && p.TLS.Clients.Authorities == r.name
}
