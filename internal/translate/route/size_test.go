package route_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/route"
)

func TestSize(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("100% ", 1000)
	for name, change := range map[string]func(*ir.Rule){
		"nothing else":             func(*ir.Rule) {},
		"a header with per cents":  func(r *ir.Rule) { r.RequestHeaders = set("x", large) },
		"a header of the response": func(r *ir.Rule) { r.ResponseHeaders = set("x", large) },
		"users":                    func(r *ir.Rule) { r.Policy = &ir.RequestPolicy{BasicAuth: &ir.BasicAuth{Users: ir.Sensitive(large)}} },
		"a script": func(r *ir.Rule) {
			r.Extensions = &ir.Extensions{List: []ir.Extension{{Lua: &ir.Lua{Source: strings.Repeat("\n", 5000)}}}}
		},
		"a body": func(r *ir.Rule) { r.Forward, r.Respond = nil, &ir.Response{StatusCode: 200, Body: large} },
		"a prefix that is taken away": func(r *ir.Rule) {
			r.RequestHeaders, r.Forward.Rewrite = set("x", large), &ir.Rewrite{Path: &ir.PathEdit{Prefix: new("/")}}
		},
		"a redirect": func(r *ir.Rule) {
			r.ResponseHeaders, r.Forward, r.Redirect = set("x", large), nil, &ir.Redirect{StatusCode: 302, Scheme: "https"}
		},
		"a rule for preflights": func(r *ir.Rule) {
			r.ResponseHeaders, r.Policy = set("x", large), &ir.RequestPolicy{CORS: &ir.CORS{Methods: []string{"GET"}}}
			r.Match.Method = "GET"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := to("HTTPRoute/infra/r/0/0", path(ir.Prefix, "/a"))
			change(&rule)
			bytes, routes := route.Size(&rule)
			for _, domain := range []string{"a.example", "*.example"} {
				host, _ := route.VirtualHost(ir.VirtualHost{Domain: domain, Rules: []ir.Rule{rule}})
				if size := proto.Size(host); size > bytes+1024 || routes < len(host.GetRoutes()) {
					t.Errorf("at %s it takes %d bytes and %d routes, and %d and %d are charged", domain, size, len(host.GetRoutes()), bytes, routes)
				}
			}
		})
	}
}

func TestPolicySize(t *testing.T) {
	t.Parallel()
	if got := route.PolicySize(nil); got != 0 {
		t.Errorf("no settings take %d bytes", got)
	}
	if got := route.PolicySize(&ir.RequestPolicy{BasicAuth: &ir.BasicAuth{Users: ir.Sensitive(strings.Repeat("u", 60_000))}}); got < 60_000 {
		t.Errorf("users take %d bytes", got)
	}
}
