package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
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

// report is what an object reports: the listeners of a Gateway or ListenerSet that it is about, sorted, and a text.
type report struct {
	listeners []string
	message   string
}

// notices are what objects report. An object reports all its problems together.
type notices map[notice]report

func (n notices) add(s subject, gateway string, listeners []string, message string) {
	key := notice{s, gateway}
	before := n[key]
	messages := append(strings.Split(before.message, "\n"), message)
	slices.Sort(messages)
	all := append(slices.Clone(before.listeners), listeners...)
	slices.Sort(all)
	n[key] = report{slices.Compact(all), strings.TrimPrefix(strings.Join(slices.Compact(messages), "\n"), "\n")}
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
	for n, t := range now {
		p.to.Convergence.Reject(n.kind, n.key, n.gateway, t.listeners, t.message)
	}
	p.noticed = now
	p.quarantine.Offer()
}

// notices returns what the objects at fault report.
func (p *Pipeline) notices() notices {
	all := notices{}
	p.quarantine.Notices(func(n quarantine.Notice) { all.add(subject{n.Kind, n.Key}, n.Gateway, n.Listeners, n.Message) })
	for r, reason := range p.quarantine.Resources() {
		what := r.Type.String()
		if r.Type == xds.Cluster {
			what = "backend"
		}
		id := resourceID{group: r.Group, typ: r.Type, name: r.Name}
		p.graph.noticeResource(all, id, fmt.Sprintf("a proxy rejected (NACK) %s %s: %s", what, r.Name, reason))
	}
	p.failures.notices(all)
	p.graph.noticeBudgets(all)
	p.graph.noticeEndpoints(all, p.short.get())
	return all
}

// resourceID names a resource of a group. The table is that of a virtual host.
type resourceID struct {
	group xds.GroupID
	typ   xds.Type
	name  string
	table string
}

// noticeResource adds a notice for the objects that a cluster, listener or secret of a group belongs to.
func (g *graph) noticeResource(all notices, r resourceID, message string) {
	for _, name := range g.served(r.group) {
		if r.typ == xds.Cluster {
			backend, _ := ir.ParseBackend(r.name)
			g.noticeCluster(all, ir.GatewayBackend{Gateway: name, Backend: backend}, message)
			continue
		}
		resolved, _ := g.gateways.Get(nil, name)
		for owner, listeners := range resolved.Owners(func(l gateway.Listener) bool { return r.concerns(name, l) }) {
			all.add(subject{owner.Kind, owner.Key}, name, listeners, message)
		}
		settings, _ := g.clientSettings.Get(nil, name)
		for _, origin := range settings.Origins(func(at client.ChainKey, p *ir.ClientPolicy) bool { return r.has(name, at, p) }) {
			all.add(subject{store.Kind(origin.Kind), origin.Name.String()}, name, nil, message)
		}
	}
}

// noticeCluster adds a notice for the routes that use a backend at a Gateway, and for the objects that the backend has settings from.
func (g *graph) noticeCluster(all notices, user ir.GatewayBackend, message string) {
	for _, key := range g.byGatewayBackend.Keys(nil, user) {
		kind, own := store.SplitKindKey(key)
		all.add(subject{kind, own}, user.Gateway, nil, message)
	}
	for _, origin := range g.clusterOrigins(user) {
		all.add(origin, user.Gateway, nil, message)
	}
}

// clusterOrigins returns the objects that a cluster has settings from, besides the Service.
func (g *graph) clusterOrigins(user ir.GatewayBackend) []subject {
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
	subjects := make([]subject, 0, len(origins))
	for _, origin := range origins {
		subjects = append(subjects, subject{store.Kind(origin.Kind), origin.Name.String()})
	}
	return subjects
}

// concerns reports whether a listener of a Gateway is translated to this listener, or needs this secret.
func (r resourceID) concerns(gateway string, l gateway.Listener) bool {
	if r.typ == xds.Secret {
		return slices.Contains(l.Certificates, ir.CertificateKey(r.name)) || l.Clients != nil && l.Clients.Authorities == r.name
	}
	port := ir.PortID{Gateway: gateway, Port: ir.Port{Number: l.Port, Protocol: l.Protocol}.ID()}
	return r.name == port.ListenerName() || l.Protocol == ir.HTTPS && r.name == port.OfQUIC().ListenerName()
}

// has reports whether a chain of a Gateway with that policy is in this listener, or needs this secret because of the policy.
func (r resourceID) has(gateway string, at client.ChainKey, p *ir.ClientPolicy) bool {
	if r.typ == xds.Secret {
		return p.TLS.Clients != nil && p.TLS.Clients.Authorities == r.name
	}
	port := ir.PortID{Gateway: gateway, Port: at.Port}
	return r.name == port.ListenerName() || p.HTTP3 && r.name == port.OfQUIC().ListenerName()
}
