package route_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// stream is a route attached to a listener of infra/gw, with the domains and original hostnames it has there.
func stream(name string, created int64, listener string, hosts ...route.Host) route.Resolved {
	return route.Resolved{
		Kind: "TLSRoute", Name: ir.Name{Namespace: "infra", Name: name}, Created: created,
		Attachments: []route.Attachment{{Gateway: "infra/gw", Listener: listener, Hosts: hosts}},
		Stream: &ir.Stream{Route: name, Backends: []ir.StreamBackend{{
			Backend: ir.Backend{Object: ir.Name{Namespace: "infra", Name: "s"}, Port: 80, Protocol: ir.BackendTCP}, Weight: 1,
		}}},
	}
}

func host(domain, original string) route.Host { return route.Host{Domain: domain, Original: original} }

// open is the chain of a listener that waits for routes.
func open(name, serverName string, certificates ...string) ir.Chain {
	return ir.Chain{Name: name, ServerName: serverName, Certificates: certificates, Stream: &ir.Stream{}}
}

// describeChains is one `server name[+certificate] → route` for each chain, with `closed` for none.
func describeChains(port ir.Port) string {
	var lines []string
	for _, c := range port.Chains {
		to := "closed"
		switch {
		case !c.RouteTable.IsZero():
			to = c.RouteTable.Gateway
		case c.Stream != nil:
			to = c.Stream.Route
		}
		lines = append(lines, strings.Join(append([]string{c.ServerName}, c.Certificates...), "+")+" → "+to)
	}
	return strings.Join(lines, ", ")
}

func TestPort(t *testing.T) {
	t.Parallel()
	https := ir.Chain{Name: "web", ServerName: "web.org", Certificates: []string{"c"}, RouteTable: ir.TableID{Gateway: "table"}}
	for _, c := range []struct {
		name     string
		protocol ir.Protocol
		chains   []ir.Chain
		routes   []route.Resolved
		want     string
	}{
		{"HTTP is as the Gateway has it", ir.HTTP, []ir.Chain{{Name: "http", RouteTable: ir.TableID{Gateway: "table"}}}, nil, " → table"},
		{"a TCP port without routes has nothing to serve", ir.TCP, []ir.Chain{open("l", "")}, nil, ""},
		{
			"nor has one whose backend does not exist", ir.TCP,
			[]ir.Chain{open("l", "")},
			[]route.Resolved{{
				Attachments: stream("a", 1, "l", host("*", "*")).Attachments,
				Stream:      &ir.Stream{Backends: []ir.StreamBackend{{Weight: 1}}},
			}},
			"",
		},
		{
			"the older route has the TCP port", ir.TCP,
			[]ir.Chain{open("l", "")},
			[]route.Resolved{stream("a", 2, "l", host("*", "*")), stream("b", 1, "l", host("*", "*"))},
			" → b",
		},
		{
			"of two as old, the first by name", ir.UDP,
			[]ir.Chain{open("l", "")},
			[]route.Resolved{stream("b", 1, "l", host("*", "*")), stream("a", 1, "l", host("*", "*"))},
			" → a",
		},
		{
			"the more specific hostname goes before the older route", ir.TLS,
			[]ir.Chain{open("l", "a.org")},
			[]route.Resolved{stream("old", 1, "l", host("a.org", "*.org")), stream("new", 2, "l", host("a.org", "a.org"))},
			"a.org → new",
		},
		{
			"a listener keeps its name from a route of a wider one", ir.TLS,
			[]ir.Chain{open("exact", "a.org"), open("wide", "*.org")},
			[]route.Resolved{stream("r", 1, "wide", host("a.org", "a.org"), host("b.org", "b.org"))},
			"a.org → closed, *.org → closed, b.org → r",
		},
		{
			"one that ends TLS and one that passes it through share a port", ir.TLS,
			[]ir.Chain{open("ends", "a.org", "c"), open("passes", "b.org")},
			[]route.Resolved{stream("one", 1, "ends", host("a.org", "a.org")), stream("two", 1, "passes", host("b.org", "b.org"))},
			"a.org+c → one, b.org → two",
		},
		{
			"HTTPS keeps its hostname", ir.HTTPS,
			[]ir.Chain{open("any", ""), https},
			[]route.Resolved{stream("r", 1, "any", host("web.org", "web.org"), host("*", "*"))},
			" → r, web.org+c → table",
		},
		{"a listener without a certificate closes", ir.TLS, []ir.Chain{{Name: "l", ServerName: "a.org"}}, nil, "a.org → closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			routes := store.NewTable[route.Resolved](store.New(), "route")
			byListener := store.NewIndexOf(routes, "byListener", func(_ string, r route.Resolved) []ir.ListenerID { return r.Listeners() })
			for _, r := range c.routes {
				routes.Set(r.Name.String(), r)
			}
			got := route.Port(nil, routes, byListener, "infra/gw", ir.Port{Number: 443, Protocol: c.protocol, Chains: c.chains})
			if text := describeChains(got); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}
