package route_test

import (
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

func TestRedirect(t *testing.T) {
	t.Parallel()
	https := &routev3.RedirectAction_SchemeRedirect{SchemeRedirect: "https"}
	tests := []struct {
		name     string
		domain   string
		redirect ir.Redirect
		want     *routev3.RedirectAction
	}{
		{
			"to another host",
			"a.example",
			ir.Redirect{Hostname: "b.example", StatusCode: 301},
			&routev3.RedirectAction{HostRedirect: "b.example"},
		},
		{
			"to a port keeps the host",
			"a.example",
			ir.Redirect{Port: 8443, StatusCode: 302},
			&routev3.RedirectAction{PortRedirect: 8443, ResponseCode: routev3.RedirectAction_FOUND},
		},
		{
			"to a scheme leaves the request's port out",
			"a.example",
			ir.Redirect{Scheme: "https", StatusCode: 307},
			&routev3.RedirectAction{
				HostRedirect: "a.example", SchemeRewriteSpecifier: https, ResponseCode: routev3.RedirectAction_TEMPORARY_REDIRECT,
			},
		},
		{
			"below a wildcard keeps the request's host",
			"*.example",
			ir.Redirect{Scheme: "https", StatusCode: 308},
			&routev3.RedirectAction{SchemeRewriteSpecifier: https, ResponseCode: routev3.RedirectAction_PERMANENT_REDIRECT},
		},
		{
			"to another host and port",
			"*",
			ir.Redirect{Hostname: "b.example", Port: 81, StatusCode: 303},
			&routev3.RedirectAction{HostRedirect: "b.example", PortRedirect: 81, ResponseCode: routev3.RedirectAction_SEE_OTHER},
		},
		{
			"with an unknown status is a plain one",
			"*",
			ir.Redirect{Hostname: "b.example", StatusCode: 399},
			&routev3.RedirectAction{HostRedirect: "b.example", ResponseCode: routev3.RedirectAction_FOUND},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rule := ir.Rule{Name: "r", Match: path(ir.Prefix, "/"), Redirect: &tt.redirect}
			host, _ := route.VirtualHost(ir.VirtualHost{Domain: tt.domain, Rules: []ir.Rule{rule}})
			prototest.Valid(t, host)
			routes := host.GetRoutes()
			if got := routes[len(routes)-1].GetRedirect(); !proto.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRedirectsBelowWildcardsKeepNoForeignPort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, domain, chain string
		redirect            ir.Redirect
		// want is the port for a Host with one; 0 is that there is no match of its own.
		want uint32
	}{
		{"to https", "*", "", ir.Redirect{Scheme: "https"}, 443},
		{"to http", "*.example", "https", ir.Redirect{Scheme: "http"}, 80},
		{"to the listener's own scheme", "*.example", "https", ir.Redirect{}, 443},
		{"to the listener's own scheme in plain text", "*", "", ir.Redirect{}, 80},
		{"to a port", "*", "", ir.Redirect{Scheme: "https", Port: 8443}, 0},
		{"to a host", "*", "", ir.Redirect{Scheme: "https", Hostname: "b.example"}, 0},
		{"of a host that is known", "a.example", "", ir.Redirect{Scheme: "https"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rule := ir.Rule{Name: "r", Match: path(ir.Prefix, "/"), Redirect: &c.redirect}
			host, _ := route.VirtualHost(ir.VirtualHost{Domain: c.domain, Rules: []ir.Rule{rule}, Chain: c.chain})
			prototest.Valid(t, host)
			routes := host.GetRoutes()
			if c.chain != "" {
				own := host.GetMatcher().GetMatcherTree().GetExactMatchMap().GetMap()[c.chain].GetAction().GetTypedConfig()
				routes = unpack(t, own, &routev3.RouteList{}).GetRoutes()
			}
			if c.want == 0 {
				if len(routes) != 1 {
					t.Errorf("got %v", routes)
				}
				return
			}
			first := routes[0]
			if len(routes) != 2 || first.GetRedirect().GetPortRedirect() != c.want || first.GetMatch().GetHeaders()[0].GetName() != ":authority" {
				t.Errorf("got %v", routes)
			}
		})
	}
}
