package route_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

// The first rows are the table of HTTPPathModifier.replacePrefixMatch in Gateway API, word for word.
var prefixEdits = []struct{ request, match, replace, want string }{
	{"/foo/bar", "/foo", "/xyz", "/xyz/bar"},
	{"/foo/bar", "/foo", "/xyz/", "/xyz/bar"},
	{"/foo/bar", "/foo/", "/xyz", "/xyz/bar"},
	{"/foo/bar", "/foo/", "/xyz/", "/xyz/bar"},
	{"/foo", "/foo", "/xyz", "/xyz"},
	{"/foo/", "/foo", "/xyz", "/xyz/"},
	{"/foo/bar", "/foo", "", "/bar"},
	{"/foo/", "/foo", "", "/"},
	{"/foo", "/foo", "", "/"},
	{"/foo/", "/foo", "/", "/"},
	{"/foo", "/foo", "/", "/"},

	{"/foo/bar", "/foo", "/", "/bar"},
	{"/foo/a/b", "/foo/a", "/", "/b"},
	{"/foo/bar", "/foo", "xyz", "/xyz/bar"},
	{"/bar", "/", "/xyz", "/xyz/bar"},
	{"/", "/", "/xyz", "/xyz/"},
	{"/bar", "/", "/", "/bar"},
	{"/bar", "/", "", "/bar"},
	{"/foo/%7E", "/foo", "/a%20b", "/a%20b/%7E"},
	{`/foo/bar`, "/foo", `/\1`, `/\1/bar`},
}

func TestReplacePrefix(t *testing.T) {
	t.Parallel()
	for _, tt := range prefixEdits {
		t.Run(strings.Join([]string{tt.request, "with", tt.match, "as", tt.replace, "becomes", tt.want}, " "), func(t *testing.T) {
			t.Parallel()
			edit := &ir.PathEdit{Prefix: &tt.replace}
			rewrite := to("rewrite", path(ir.Prefix, tt.match))
			rewrite.Forward.Rewrite = &ir.Rewrite{Path: edit}
			redirect := ir.Rule{Name: "redirect", Match: path(ir.Prefix, tt.match), Redirect: &ir.Redirect{Path: edit, StatusCode: 301}}
			for _, rule := range []ir.Rule{rewrite, redirect} {
				host, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{rule}})
				prototest.Valid(t, host)
				asked := request{method: "GET", target: tt.request}
				got := pick(host, asked)
				if got == nil {
					t.Fatalf("%s matches nothing", rule.Name)
				}
				if became := rewritten(got, asked); became != tt.want {
					t.Errorf("%s to %q", rule.Name, became)
				}
				if other := pick(host, request{method: "GET", target: "/foobar"}); tt.match != "/" && other != nil {
					t.Errorf("%s matches /foobar", rule.Name)
				}
			}
		})
	}
}

func TestReplaceFullPath(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, full, wantRewrite, wantRedirect string }{
		{"a path", "/new", "/new", "/new"},
		{"a path without its slash", "new", "/new", "/new"},
		{"nothing", "", "/", "/"},
		{"what Envoy would expand", "/%REQ(x)%", "/%%REQ(x)%%", "/%REQ(x)%"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			edit := &ir.PathEdit{Full: &tt.full}
			rewrite := to("rewrite", path(ir.Prefix, "/old"))
			rewrite.Forward.Rewrite = &ir.Rewrite{Path: edit, Hostname: "b.example"}
			redirect := ir.Rule{Name: "redirect", Match: path(ir.Exact, "/r"), Redirect: &ir.Redirect{Path: edit}}
			host, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{rewrite, redirect}})
			prototest.Valid(t, host)
			if got := host.GetRoutes()[0].GetRoute(); got.GetPathRewrite() != tt.wantRewrite || got.GetHostRewriteLiteral() != "b.example" {
				t.Errorf("rewritten to %q on %q", got.GetPathRewrite(), got.GetHostRewriteLiteral())
			}
			if got := host.GetRoutes()[1].GetRedirect(); got.GetPathRedirect() != tt.wantRedirect {
				t.Errorf("redirected to %q", got.GetPathRedirect())
			}
		})
	}
}
