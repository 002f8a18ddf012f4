package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// filtersOf are the filters of a host: their paths and servers.
func filtersOf(host ir.VirtualHost) string {
	var all []string
	for _, f := range host.Filters {
		switch {
		case f.Auth != nil:
			all = append(all, f.Auth.PathPrefix+" "+f.Auth.Backend.String())
		case f.ExtProc != nil:
			all = append(all, f.ExtProc.Backend.String())
		default:
			all = append(all, "closed")
		}
	}
	return strings.Join(all, ", ")
}

// askingGateway is a Gateway whose listener has these filters.
func askingGateway(generation int, filters string) string {
	return fmt.Sprintf(`
kind: Gateway
metadata: {namespace: infra, name: web, generation: %d}
spec:
  gatewayClassName: gatewright
  listeners: [{name: http, port: 80, protocol: HTTP, filters: {requests: [%s]}}]
`, generation, filters)
}

// askAt is a filter that asks a server at a path.
func askAt(path string) string {
	return "{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {path: " + path + "}, backendRef: {name: v1, port: 80}}}"
}

// A listener has two hosts, and both are refused with errors instead of its filters, too.
func TestFiltersThatAreRefusedTwiceStayClosed(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, askingGateway(2, askAt("/good"))+"---"+strings.Replace(aRoute(1, "/"), "spec:", "spec:\n  hostnames: [a.example, b.example]", 1))
	p.config.step()
	put(t, p, askingGateway(3, askAt("/bad")))
	p.config.step()
	l.live = false
	for range 2 {
		for _, domain := range []string{"a.example", "b.example"} {
			current, _ := p.graph.virtualHosts.Get(nil, ir.ParseHostID("infra/web/80|"+domain))
			p.NACKed(xds.Identity{Group: ownGroup("infra/web")}, xds.NACK{
				Type: xds.VirtualHost, Table: "infra/web/80", Name: domain, Version: version(current.resource), Filters: true, Reason: "no",
			})
		}
		p.config.step()
		host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|b.example"))
		if got := filtersOf(host); got != "closed" {
			t.Errorf("the filters are %s", got)
		}
	}
}

// Those from before may ask another server, at another path, or let requests pass that the new ones do not: requests answer 500.
func TestRefusedFiltersOfAListenerAreClosedUntilTheyChange(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	filters := func() string {
		host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|*"))
		return filtersOf(host)
	}
	put(t, p, askingGateway(2, askAt("/good"))+"---"+aRoute(1, "/"))
	p.config.step()
	put(t, p, askingGateway(3, askAt("/bad")))
	p.config.step()
	l.said, l.live = nil, false
	nackHost(p, "infra/web", func(r *xds.NACK) { r.Filters, r.Routes = true, nil })
	p.config.step()
	if got := filters(); got != "closed" {
		t.Errorf("the filters are %s", got)
	}
	slices.Sort(l.said)
	const rejected = "a proxy of Gateway infra/web rejected (NACK) the filters of the listener: no such thing; requests are answered 500 " +
		"until they change"
	l.recorded(t, "refuse Gateway infra/web [http]: "+rejected, "refuse HTTPRoute infra/r [http]: "+notProgrammed(rejected))
	put(t, p, askingGateway(4, askAt("/good")))
	p.config.step()
	if got := filters(); got != "/good infra/v1/80" {
		t.Errorf("changed filters are not served, but %s", got)
	}
}

// With other filters requests would pass without a check that was asked for.
func TestRefusedFiltersAreNotReplacedByOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"the first filter": {"", askAt("/bad")},
		"another path":     {askAt("/one"), askAt("/bad")},
		"another server":   {strings.Replace(askAt("/one"), "v1", "v2", 1), askAt("/one")},
		"a second filter":  {askAt("/one"), askAt("/one") + ", " + askAt("/bad")},
		"one filter less":  {askAt("/one") + ", " + askAt("/two"), askAt("/bad")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &recorder{live: true}
			p := l.plane(t)
			put(t, p, askingGateway(2, c.before)+"---"+aRoute(1, "/"))
			p.config.step()
			put(t, p, askingGateway(3, c.after))
			p.config.step()
			l.live = false
			nackHost(p, "infra/web", func(r *xds.NACK) { r.Filters, r.Routes = true, nil })
			p.config.step()
			host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|*"))
			if got := filtersOf(host); got != "closed" {
				t.Errorf("the filters are %q", got)
			}
		})
	}
}
