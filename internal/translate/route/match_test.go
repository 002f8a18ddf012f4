package route_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

// svc is a Service of that name, or a reference that cannot be resolved.
func svc(name string) ir.Backend {
	if name == "" {
		return ir.Backend{}
	}
	return ir.Backend{Object: ir.Name{Namespace: "shop", Name: name}, Port: 80, Protocol: ir.BackendHTTP1}
}

// short is the name of the Service that a cluster belongs to, or the name of the cluster if there is none.
func short(cluster string) string {
	if b, ok := ir.ParseBackend(cluster); ok {
		return b.Object.Name
	}
	return cluster
}

func to(name string, m ir.Match) ir.Rule {
	return ir.Rule{
		Name:    name,
		Match:   m,
		Policy:  &ir.RequestPolicy{},
		Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: svc(name), Weight: 1}}},
	}
}

func path(kind ir.MatchKind, value string) ir.Match {
	return ir.Match{Path: ir.StringMatch{Kind: kind, Value: value}}
}

func named(name string, kind ir.MatchKind, value string) ir.NamedMatch {
	return ir.NamedMatch{Name: name, StringMatch: ir.StringMatch{Kind: kind, Value: value}}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	everything := path(ir.Prefix, "/")
	with := func(change func(*ir.Match)) ir.Match {
		m := everything
		change(&m)
		return m
	}
	host, _ := route.VirtualHost(ir.VirtualHost{Domain: "a.example", Rules: []ir.Rule{
		to("exact", path(ir.Exact, "/exact")),
		to("exact-slash", path(ir.Exact, "/exact/")),
		to("prefix", path(ir.Prefix, "/prefix/")),
		to("regex", path(ir.Regex, "/re[0-9]+")),
		to("method", with(func(m *ir.Match) { m.Method = "DELETE" })),
		to("headers", with(func(m *ir.Match) {
			m.Headers = []ir.NamedMatch{named("x-colour", ir.Exact, "blue"), named("x-size", ir.Regex, "[0-9]+")}
		})),
		to("query", with(func(m *ir.Match) { m.Query = []ir.NamedMatch{named("q", ir.Exact, "1"), named("r", ir.Regex, "a+")} })),
		to("grpc", with(func(m *ir.Match) { m.GRPC, m.Path.Value = true, "/s" })),
		to("anything", ir.Match{}),
	}})
	prototest.Valid(t, host)
	if host.GetName() != "a.example" || len(host.GetDomains()) != 1 || host.GetDomains()[0] != "a.example" {
		t.Errorf("host is %q for %v", host.GetName(), host.GetDomains())
	}

	tests := []struct {
		name    string
		request request
		want    string
	}{
		{"the exact path", request{method: "GET", target: "/exact"}, "exact"},
		{"an exact path ignores the query", request{method: "GET", target: "/exact?x=y"}, "exact"},
		{"an exact path minds its slash", request{method: "GET", target: "/exact/"}, "exact-slash"},
		{"nothing below an exact path", request{method: "GET", target: "/exact/x"}, "anything"},
		{"a prefix itself, without the slash it was written with", request{method: "GET", target: "/prefix"}, "prefix"},
		{"below a prefix", request{method: "GET", target: "/prefix/x"}, "prefix"},
		{"letters of a prefix in their case", request{method: "GET", target: "/Prefix/x"}, "anything"},
		{"letters of an exact path in their case", request{method: "GET", target: "/EXACT"}, "anything"},
		{"letters of an expression in their case", request{method: "GET", target: "/Re12"}, "anything"},
		{"not a longer segment", request{method: "GET", target: "/prefixed"}, "anything"},
		{"the whole path against an expression", request{method: "GET", target: "/re12?x=y"}, "regex"},
		{"not a part of the path", request{method: "GET", target: "/re12/x"}, "anything"},
		{"a method", request{method: "DELETE", target: "/"}, "method"},
		{"all headers", request{method: "GET", target: "/", headers: map[string]string{"x-colour": "blue", "x-size": "42"}}, "headers"},
		{"not one of two headers", request{method: "GET", target: "/", headers: map[string]string{"x-colour": "blue"}}, "anything"},
		{
			"not a part of a header",
			request{method: "GET", target: "/", headers: map[string]string{"x-colour": "blue", "x-size": "4 2"}},
			"anything",
		},
		{"all parameters", request{method: "GET", target: "/?r=aaa&q=1"}, "query"},
		{"not one of two parameters", request{method: "GET", target: "/?q=1"}, "anything"},
		{"gRPC", request{method: "POST", target: "/s/m", headers: map[string]string{"content-type": "application/grpc+proto"}}, "grpc"},
		{
			"whatever else comes to a host of gRPC",
			request{method: "POST", target: "/s/m", headers: map[string]string{"content-type": "application/json"}},
			"grpc",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := pick(host, tt.request)
			if cluster := short(got.GetRoute().GetCluster()); cluster != tt.want || got.GetName() != tt.want {
				t.Errorf("%s %s → route %q, cluster %q, want %q", tt.request.method, tt.request.target, got.GetName(), cluster, tt.want)
			}
		})
	}
}

func TestNoRuleMatches(t *testing.T) {
	t.Parallel()
	host, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{to("a", path(ir.Exact, "/a"))}})
	prototest.Valid(t, host)
	if got := pick(host, request{method: "GET", target: "/b"}); got != nil {
		t.Errorf("/b → %q, want nothing, which Envoy answers 404", got.GetName())
	}
}

func TestAnErrorForGRPCTakesWhateverComes(t *testing.T) {
	t.Parallel()
	closed := ir.Rule{Name: "closed", Match: ir.Match{GRPC: true}, Fail: &ir.Fail{StatusCode: 503}}
	host, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{closed, to("wide", path(ir.Prefix, "/"))}})
	prototest.Valid(t, host)
	for _, content := range []string{"application/grpc", "application/grpc-web+proto", "application/json"} {
		if got := pick(
			host,
			request{method: "POST", target: "/", headers: map[string]string{"content-type": content}},
		).GetName(); got != "closed" {
			t.Errorf("%s goes to %s, past a rule that cannot be served", content, got)
		}
	}
}
