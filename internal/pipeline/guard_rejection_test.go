package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// rejectRoute has proxies reject a new version of a route, and what is served instead of it, up to four times. If that is apart, other
// proxies accept it.
func (d *damage) rejectRoute(apart bool) (before, after view) {
	changes := d.newVersion()
	key := store.KindKey(store.HTTPRoute, changes[len(changes)-1].Key)
	before, after = d.reject(changes, 1+d.IntN(4), apart, func(_ *Pipeline, _ ir.HostID, host ir.VirtualHost, nack *xds.NACK) bool {
		for _, rule := range host.Rules {
			if strings.HasPrefix(rule.Name, key+"/") {
				nack.Routes = append(nack.Routes, rule.Name)
			}
		}
		return len(nack.Routes) > 0
	})
	live := viewOf(d.compute(append(slices.Clone(d.objects), changes[:len(changes)-1]...)))
	after.live, after.earlier = &live, key
	return before, after
}

// rejectFilters has proxies reject what the rules of a listener share: new filters of it, or a new policy above the routes. They may reject
// what is served instead, too.
func (d *damage) rejectFilters(apart bool) (before, after view) {
	change, listener := d.Refilter(d.objects)
	d.what = fmt.Sprintf("other filters of listener %s of %s %s", listener, change.Kind, change.Key)
	if d.IntN(4) == 0 {
		policy := d.GatewayPolicy()
		change = store.Change{Kind: store.SecurityPolicy, Key: store.KeyOf(policy), Object: policy}
		d.what = fmt.Sprintf("a policy on the Gateway, for listener %s", listener)
	}
	return d.reject([]store.Change{change}, 1+d.IntN(2), apart, func(p *Pipeline, id ir.HostID, _ ir.VirtualHost, nack *xds.NACK) bool {
		nack.Filters = true
		return ownerOf(p, id) == listener
	})
}

// reject has proxies reject changes, and what is served instead, so many times. The function says what a proxy rejects of a host, and
// whether it does. If that is apart, others accept the changes, and the view is that of the proxies that do not.
func (d *damage) reject(
	changes []store.Change, times int, apart bool, rejects func(*Pipeline, ir.HostID, ir.VirtualHost, *xds.NACK) bool,
) (before, after view) {
	l := &recorder{live: true, offers: map[string][]byte{}}
	out := discardAll()
	out.Statuses, out.Convergence, out.Peers = l, l, l
	p := New(out, prometheus.NewRegistry(), guardOptions()...)
	for _, c := range d.objects {
		p.Put(c)
	}
	p.Start()
	for _, c := range changes {
		p.Put(c)
	}
	p.config.step()
	before = viewOf(p)
	l.live, l.acked = false, apart
	for range times {
		for id, host := range received(p) {
			nack := xds.NACK{Type: xds.VirtualHost, Table: id.Table.String(), Name: id.Domain, Version: host.version, Reason: "no such thing"}
			if rejects(p, id, host.VirtualHost, &nack) {
				p.NACKed(xds.Identity{Group: ownGroup(id.Table.Gateway)}, nack)
			}
		}
		// What nothing replaces is closed in the second step.
		p.config.step()
		p.config.step()
	}
	d.what += fmt.Sprintf(", %d times", times)
	return before, viewOfRejecting(p)
}

// viewOfRejecting is what proxies do that reject something.
func viewOfRejecting(p *Pipeline) view {
	v := viewOf(p)
	for id, host := range received(p) {
		v.config.Hosts[id] = host.VirtualHost
	}
	for _, at := range p.graph.apart.Keys(nil) {
		gateway := at.Host.Table.Gateway
		substitute, _ := p.graph.substitutes.Apart.Get(nil, at)
		for key, instead := range p.graph.routesApart(nil, gateway, substitute) {
			v.routes[key] = v.routes[key].With(gateway, instead)
		}
	}
	return v
}

// receivedHost is a virtual host of proxies that reject something, with its version.
type receivedHost struct {
	ir.VirtualHost
	version string
}

// received are the virtual hosts of proxies that reject something.
func received(p *Pipeline) map[ir.HostID]receivedHost {
	g, all := p.graph, map[ir.HostID]receivedHost{}
	for _, id := range g.hosts.Keys(nil) {
		host, _ := g.hosts.Get(nil, id)
		t, _ := g.virtualHosts.Get(nil, id)
		sent, at := version(t.resource), quarantine.GroupHost{Group: ownGroup(id.Table.Gateway), Host: id}
		if instead, _ := g.apart.Get(nil, at); instead.resource != nil {
			sent = version(instead.resource)
			substitute, _ := g.substitutes.Apart.Get(nil, at)
			if other, replaced := g.insteadOf(nil, id, substitute); replaced {
				host = other
			}
		}
		if sent == version(closedTranslation(id).resource) {
			host = ir.ClosedHost(id)
		}
		all[id] = receivedHost{host, sent}
	}
	return all
}

// ownerOf is the listener that a virtual host belongs to.
func ownerOf(p *Pipeline, id ir.HostID) string {
	listeners, _ := p.graph.tableListeners.Get(nil, id.Table)
	owner, _ := route.OwnerOf(listeners, id.Domain)
	return owner.ID
}
