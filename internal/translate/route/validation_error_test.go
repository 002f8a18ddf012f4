package route_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

// TestARuleThatEnvoyWouldRefuseSpoilsNoOther: resolvers let none of these through, and should they one day, this is what happens.
func TestARuleThatEnvoyWouldRefuseSpoilsNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		spoil  func(*ir.Rule)
		reason string
	}{
		{
			"a header name with a line break", func(r *ir.Rule) { r.RequestHeaders = &ir.HeaderEdit{Remove: []string{"a\nb"}} },
			"RequestHeadersToRemove",
		},
		{"an expression without text", func(r *ir.Rule) {
			r.Match.Headers = []ir.NamedMatch{{Name: "x", StringMatch: ir.StringMatch{Kind: ir.Regex}}}
		}, "Regex"},
		{"a path with a query", func(r *ir.Rule) { r.Match.Path.Value = "/bad/x?y" }, "PathSeparatedPrefix"},
		{"a redirect to two lines", func(r *ir.Rule) {
			r.Forward, r.Redirect = nil, &ir.Redirect{StatusCode: 302, Hostname: "b.example", Path: &ir.PathEdit{Full: new("/a\nb")}}
		}, "PathRedirect"},
		{"a session without a name", func(r *ir.Rule) { r.Forward.Backends[0].Session = &ir.Session{Cookie: "", Path: "/"} }, "Name"},
		{"a text that is not UTF-8, packed", func(r *ir.Rule) { r.Policy.CORS = &ir.CORS{Headers: []string{"\xff"}} }, "UTF-8"},
	} {
		for _, chain := range []string{"", "https"} {
			t.Run(c.name+" "+chain, func(t *testing.T) {
				t.Parallel()
				bad := to("HTTPRoute/infra/bad/0/0", path(ir.Prefix, "/bad"))
				c.spoil(&bad)
				rules := []ir.Rule{to("HTTPRoute/infra/a/0/0", path(ir.Prefix, "/a")), bad, to("HTTPRoute/infra/b/0/0", path(ir.Prefix, "/b"))}
				host, invalid := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: rules, Chain: chain})
				prototest.Valid(t, host)
				if len(invalid) != 1 || invalid[0].Owner != bad.Name || !strings.Contains(invalid[0].Reason, c.reason) {
					t.Errorf("invalid are %+v, want one of %s that says %s", invalid, bad.Name, c.reason)
				}
				if chain == "" && len(host.GetRoutes()) != len(rules) {
					t.Errorf("%d routes are left, want %d", len(host.GetRoutes()), len(rules))
				}
				if got := pick(
					host,
					request{method: "GET", target: "/bad"},
				); chain == "" &&
					got.GetDirectResponse().GetStatus() != 500 {
					t.Errorf("the rule answers %v", got)
				}
			})
		}
	}
}
