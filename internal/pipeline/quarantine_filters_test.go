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

// A listener has two hosts, and both are refused with the good filters, too.
func TestFiltersThatAreRefusedTwiceAreClosed(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	edge := func(generation int, prefix string) string {
		return fmt.Sprintf(`
kind: Gateway
metadata: {namespace: infra, name: web, generation: %d}
spec:
  gatewayClassName: gatewright
  listeners:
  - name: http
    port: 80
    protocol: HTTP
    filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {path: %s}, backendRef: {name: v1, port: 80}}}]}
`, generation, prefix)
	}
	put(t, p, edge(2, "/good")+"---"+strings.Replace(aRoute(1, "/"), "spec:", "spec:\n  hostnames: [a.example, b.example]", 1))
	p.config.step()
	put(t, p, edge(3, "/bad"))
	p.config.step()
	l.live = false
	refuse := func() {
		for _, domain := range []string{"a.example", "b.example"} {
			current, _ := p.graph.virtualHosts.Get(nil, ir.ParseHostID("infra/web/80|"+domain))
			p.NACKed(xds.Identity{Group: ownGroup("infra/web")}, xds.NACK{
				Type: xds.VirtualHost, Table: "infra/web/80", Name: domain, Version: version(current.resource), Filters: true, Reason: "no",
			})
		}
		p.config.step()
	}
	for _, want := range []string{"/good infra/v1/80", "closed"} {
		refuse()
		host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|b.example"))
		if got := filtersOf(host); got != want {
			t.Errorf("the filters are %s, want %q", got, want)
		}
	}
}

func TestRefusedFiltersOfAListenerAreReplacedByThoseFromBefore(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	edge := func(generation int, prefix string) string {
		return fmt.Sprintf(`
kind: Gateway
metadata: {namespace: infra, name: web, generation: %d}
spec:
  gatewayClassName: gatewright
  listeners:
  - name: http
    port: 80
    protocol: HTTP
    filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {path: %s}, backendRef: {name: v1, port: 80}}}]}
`, generation, prefix)
	}
	filters := func() string {
		host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|*"))
		return filtersOf(host)
	}
	put(t, p, edge(2, "/good")+"---"+aRoute(1, "/"))
	p.config.step()
	good := filters()
	put(t, p, edge(3, "/bad"))
	p.config.step()
	if filters() == good {
		t.Fatal("the filter is as it was")
	}
	l.said, l.live = nil, false
	nackHost(p, "infra/web", func(r *xds.NACK) { r.Filters, r.Routes = true, nil })
	p.config.step()
	if got := filters(); got != good {
		t.Errorf("the filter is %s, was %s", got, good)
	}
	slices.Sort(l.said)
	const rejected = "a proxy of Gateway infra/web rejected (NACK) the filters of the listener: no such thing; those from " +
		"before are served until they change"
	l.recorded(t, "refuse Gateway infra/web [http]: "+rejected, "refuse HTTPRoute infra/r [http]: "+notProgrammed(rejected))
	put(t, p, edge(4, "/better"))
	p.config.step()
	if got := filters(); got == good {
		t.Error("a changed filter is not served")
	}
}

// With fewer filters requests would pass without a check that was asked for, and there is no place for more.
func TestRefusedFiltersAreReplacedByAsMany(t *testing.T) {
	t.Parallel()
	ask := func(path string) string {
		return "{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {path: " + path + "}, backendRef: {name: v1, port: 80}}}"
	}
	for name, c := range map[string]struct{ before, after string }{
		"the first filter": {"", ask("/bad")},
		"a second filter":  {ask("/one"), ask("/one") + ", " + ask("/bad")},
		"one filter less":  {ask("/one") + ", " + ask("/two"), ask("/bad")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &recorder{live: true}
			p := l.plane(t)
			edge := func(generation int, filters string) string {
				return fmt.Sprintf(`
kind: Gateway
metadata: {namespace: infra, name: web, generation: %d}
spec:
  gatewayClassName: gatewright
  listeners: [{name: http, port: 80, protocol: HTTP, filters: {requests: [%s]}}]
`, generation, filters)
			}
			put(t, p, edge(2, c.before)+"---"+aRoute(1, "/"))
			p.config.step()
			put(t, p, edge(3, c.after))
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
