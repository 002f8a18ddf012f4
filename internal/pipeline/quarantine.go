package pipeline

import (
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/xds"
)

// maxReason limits the part of a proxy's error message, or of a panic, that is reported.
const maxReason = 1024

// NACKed takes in a NACK of a proxy. It never blocks.
func (p *Pipeline) NACKed(proxy xds.Identity, r xds.NACK) {
	report := quarantine.Report{
		Reason: strings.ToValidUTF8(r.Reason[:min(len(r.Reason), maxReason)], ""), Pods: map[string]struct{}{proxy.Pod: {}},
		FellBack: r.FellBack,
	}
	for _, origin := range r.Origins {
		report.Origins = append(report.Origins, ir.ParseObjectRef(origin))
	}
	nack := quarantine.NACK{Group: proxy.Group, Type: r.Type, Name: r.Name}
	switch r.Type {
	case xds.VirtualHost:
		nack.Table, nack.Version, nack.Routes = r.Table, r.Version, strings.Join(r.Routes, "\n")
		nack.Filters, nack.Together, nack.Cluster = r.Filters, r.Together, r.Cluster
	case xds.Cluster, xds.Listener, xds.Secret:
	case xds.RouteTable:
		nack.Version = r.Version
	default:
		// Endpoints belong to no object of the Gateway API. The server has logged it.
		return
	}
	// The proxy may acknowledge the rest before a step reports this.
	p.to.Convergence.NACKed(proxy.Group)
	p.config.inbox.nack(nack, report)
}

// Offered takes in what another replica has in quarantine; rejected is empty when it has nothing there any more. It never blocks.
func (p *Pipeline) Offered(replica, key, rejected string, instead []byte) {
	if o, ok := quarantine.NewOffer(rejected, instead); ok {
		p.config.inbox.offer(quarantine.OfferID{Replica: replica, Key: key}, o)
	}
}

// quarantineTables are the tables that the quarantine reads and writes.
func (g *graph) quarantineTables() quarantine.Tables {
	return quarantine.Tables{
		Objects: g.objects, Gateways: g.gateways, Routes: g.routes, Listeners: g.tableListeners, Hosts: g.hosts,
		HostVersion: func(host ir.HostID) string {
			t, _ := g.virtualHosts.Get(nil, host)
			return version(t.resource)
		},
		ClosedVersion: func(host ir.HostID) string { return version(closedTranslation(host).resource) },
		InsteadVersion: func(at quarantine.GroupHost) string {
			instead, _ := g.apart.Get(nil, at)
			return version(instead.resource)
		},
		Beside: func(at quarantine.GroupHost) []quarantine.Beside {
			instead, _ := g.apart.Get(nil, at)
			return instead.beside
		},
		Serves: func(group xds.GroupID, gateway string) bool { return g.serves(nil, group, gateway) },
		HeaderVersion: func(table ir.TableID) string {
			t, _ := g.tables.Get(nil, table)
			return version(t.resource)
		},
		ClusterVersion: func(gateway, cluster string) string {
			backend, _ := ir.ParseBackend(cluster)
			t, _ := g.clusters.Get(nil, ir.GatewayBackend{Gateway: gateway, Backend: backend})
			return version(t.resource)
		},
		HostRoutes:  func(host ir.HostID) []string { return g.byVirtualHost.Keys(nil, host) },
		Substitutes: g.substitutes,
		PolicyOrigins: func(listener ir.ListenerID) []ir.ObjectRef {
			if layer, _ := g.inherited.listeners.Get(nil, listener); layer != nil {
				return layer.Request.Objects()
			}
			return nil
		},
	}
}

// apply stores what came in before the stages of the configuration lane run.
func (p *Pipeline) apply(b batch) {
	p.quarantine.ForgetGood()
	for _, c := range b.changes {
		p.quarantine.ApplyChange(c, func() { take(p.graph.objects, c, p.panicked) })
	}
	p.graph.takeIdle(b.idling)
	p.graph.takeShort(p.short.get())
	p.quarantine.Take(b.offers, b.nacks)
}

// listenersServed returns the listeners of a table, with filters in quarantine replaced.
func (g *graph) listenersServed(v *store.View, table ir.TableID) []gateway.ParentListener {
	listeners := gateway.TableListeners(v, g.gateways, table)
	for i := range listeners {
		l := &listeners[i]
		if entry, ok := g.substitutes.Filters.Get(v, ir.ListenerID{Gateway: table.Gateway, Listener: l.ID}); ok {
			l.Filters = entry.Apply(l.Filters)
		}
		l.FilterBytes = about(routetranslate.FilterSize(l.Filters))
	}
	return listeners
}
