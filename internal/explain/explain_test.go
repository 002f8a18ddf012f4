package explain_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/ir"
)

var gateway = ir.Name{Namespace: "infra", Name: "edge"}

func table(port int32) ir.TableID { return ir.TableID{Gateway: gateway.String(), Port: port} }

func service(name string) ir.Backend {
	return ir.Backend{Object: ir.Name{Namespace: "shop", Name: name}, Port: 80, Protocol: ir.BackendHTTP1}
}

func forward(backends ...ir.Backend) *ir.Forward {
	f := &ir.Forward{}
	for _, b := range backends {
		f.Backends = append(f.Backends, ir.WeightedBackend{Backend: b, Weight: 1})
	}
	return f
}

func prefix(path string) ir.Match {
	return ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: path}}
}

func rule(number string, m ir.Match, change func(*ir.Rule)) ir.Rule {
	r := ir.Rule{Name: "HTTPRoute/shop/web/" + number + "/0", Match: m, Forward: forward(service("cart"))}
	if change != nil {
		change(&r)
	}
	return r
}

// config is a Gateway with plain HTTP at port 80, and three listeners of HTTPS at port 443.
func config(rules ...ir.Rule) *explain.Config {
	chain := func(name, serverName string) ir.Chain {
		return ir.Chain{Name: name, ServerName: serverName, Certificates: []string{"infra/" + name}, RouteTable: table(443), ByHost: true}
	}
	host := func(port int32, domain, chain string, rules ...ir.Rule) ir.VirtualHost {
		return ir.VirtualHost{Table: table(port), Domain: domain, Chain: chain, Rules: rules}
	}
	c := &explain.Config{
		Gateways: []explain.Gateway{{Name: gateway, Ports: []ir.Port{
			{Number: 80, Protocol: ir.HTTP, Chains: []ir.Chain{{Name: "http", RouteTable: table(80), ByHost: true}}},
			{Number: 443, Protocol: ir.HTTPS, Chains: []ir.Chain{chain("shop", "shop.example.com"), chain("wild", "*.example.com")}},
		}}},
		Hosts:     map[ir.HostID]ir.VirtualHost{},
		Endpoints: map[ir.Endpoints]int{service("cart").Endpoints(): 2, service("empty").Endpoints(): 0},
	}
	wild := host(80, "*.example.com", "", ir.Rule{
		Name: "HTTPRoute/shop/wild/0/0", Match: prefix("/wild"), Forward: forward(service("cart")),
	})
	exact := host(80, "shop.example.com", "", rules...)
	exact.FallsThrough = true
	for _, h := range []ir.VirtualHost{
		exact, wild, host(443, "shop.example.com", "shop", rules...), host(443, "*.example.com", "wild", rules...),
	} {
		c.Hosts[h.Table.Host(h.Domain)] = h
	}
	return c
}

func request(t *testing.T, method, url string, headers ...ir.Header) explain.Request {
	t.Helper()
	r, err := explain.ParseURL(method, url)
	if err != nil {
		t.Fatal(err)
	}
	r.Headers, r.Client = headers, netip.MustParseAddr("192.0.2.7")
	return r
}

func TestExplain(t *testing.T) {
	t.Parallel()
	get := ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/api"}, Method: "GET"}
	cors := &ir.RequestPolicy{CORS: &ir.CORS{Origins: []ir.StringMatch{{Value: "https://a.example"}}}}
	authorized := &ir.RequestPolicy{Authorization: []ir.Authorization{{
		Policy: ir.Name{Namespace: "shop", Name: "only"}, Rules: []ir.AuthorizationRule{{Allow: true, CIDRs: []string{"10.0.0.0/8"}}},
	}}}
	origin := ir.Header{Name: "Origin", Value: "https://a.example"}
	asked := ir.Header{Name: "Access-Control-Request-Method", Value: "GET"}
	all := []ir.Rule{
		rule("0", get, nil),
		rule("1", prefix("/static"), func(r *ir.Rule) {
			r.Forward, r.Redirect = nil, &ir.Redirect{StatusCode: 301, Scheme: "https"}
		}),
		rule("2", prefix("/hello"), func(r *ir.Rule) { r.Forward, r.Respond = nil, &ir.Response{StatusCode: 418} }),
		rule("3", prefix("/broken"), func(r *ir.Rule) { r.Forward, r.Fail = nil, &ir.Fail{StatusCode: 500} }),
		rule("4", prefix("/empty"), func(r *ir.Rule) { r.Forward = forward(service("empty")) }),
		rule("5", prefix("/lost"), func(r *ir.Rule) { r.Forward = forward(ir.Backend{}) }),
		rule("6", prefix("/cors"), func(r *ir.Rule) { r.Policy = cors }),
		rule("7", prefix("/inside"), func(r *ir.Rule) { r.Policy = authorized }),
		rule("8", prefix("/closed"), func(r *ir.Rule) { r.Policy = &ir.RequestPolicy{FailClosed: true} }),
		rule("9", prefix("/limited"), func(r *ir.Rule) {
			r.Policy = &ir.RequestPolicy{RateLimit: &ir.LocalRateLimit{Rules: []ir.RateRule{{Requests: 5, Unit: time.Second}}}}
		}),
	}
	for _, test := range []struct {
		name, method, url string
		headers           []ir.Header
		result            explain.Result
		status            int
		rule, reason      string
	}{
		{"a rule matches", "GET", "http://shop.example.com/api/v1", nil, explain.Forwarded, 0, "0", "Service shop/cart:80, 2 endpoints"},
		{"the host is spelled differently", "GET", "http://SHOP.example.com./api", nil, explain.Forwarded, 0, "0", ""},
		{"another method", "POST", "http://shop.example.com/api/v1", nil, explain.Answered, 404, "", "none of the 11 matches"},
		{"a path is normalized", "GET", "http://shop.example.com/x/..//api", nil, explain.Forwarded, 0, "0", ""},
		{"an escaped slash", "GET", "http://shop.example.com/api%2fv1", nil, explain.Redirected, 307, "", "escaped slashes"},
		{"a redirect", "GET", "http://shop.example.com/static/x?y", nil, explain.Redirected, 301, "1", "https://shop.example.com/static/x?y"},
		{"a direct response", "GET", "http://shop.example.com/hello", nil, explain.Answered, 418, "2", ""},
		{"a broken rule", "GET", "http://shop.example.com/broken", nil, explain.Answered, 500, "3", "cannot be served"},
		{"no endpoints", "GET", "http://shop.example.com/empty", nil, explain.Answered, 503, "4", "no ready endpoint"},
		{"no backend", "GET", "http://shop.example.com/lost", nil, explain.Answered, 500, "5", "cannot be resolved"},
		{"a preflight", "OPTIONS", "http://shop.example.com/cors", []ir.Header{origin, asked}, explain.Answered, 200, "6", "allows the origin"},
		{"another address", "GET", "http://shop.example.com/inside", nil, explain.Answered, 403, "7", "default of SecurityPolicy shop/only"},
		{"a policy fails closed", "GET", "http://shop.example.com/closed", nil, explain.Answered, 500, "8", "no request may pass"},
		{"a limit", "GET", "http://shop.example.com/limited", nil, explain.Forwarded, 0, "9", ""},
		{"a request falls through", "GET", "http://shop.example.com/wild", nil, explain.Forwarded, 0, "HTTPRoute/shop/wild/0/0", ""},
		{"no host", "GET", "http://other.org/api", nil, explain.Answered, 404, "", "no route is attached for host other.org"},
		{"TLS", "GET", "https://shop.example.com/api", nil, explain.Forwarded, 0, "0", ""},
		{"TLS without a listener", "GET", "https://other.org/api", nil, explain.Closed, 0, "", "no listener of port 443"},
		{"plain text to a port of TLS", "GET", "http://shop.example.com:443/api", nil, explain.Closed, 0, "", "sends plain text"},
		{"a port without a listener", "GET", "http://shop.example.com:81/api", nil, explain.Closed, 0, "", "a listener on port 81"},
		{"gRPC", "POST", "http://other.org/a", []ir.Header{{Name: "content-type", Value: "application/grpc"}}, explain.Answered, 200, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := explain.Explain(config(all...), request(t, test.method, test.url, test.headers...))
			want := test.rule
			if len(want) == 1 {
				want = "HTTPRoute/shop/web/" + want + "/0"
			}
			if e.Result != test.result || e.Status != test.status || e.Rule != want || !strings.Contains(e.Reason, test.reason) {
				t.Errorf("%s %d %q: %s", e.Result, e.Status, e.Rule, e.Reason)
			}
			if e.Failed() && e.Fix == "" && e.Status != 418 {
				t.Error("a failure has no fix")
			}
		})
	}
}

func TestAHostOfAnotherListenerIsMisdirected(t *testing.T) {
	t.Parallel()
	r := request(t, "GET", "https://shop.example.com/api")
	r.ServerName = "other.example.com"
	e := explain.Explain(config(rule("0", prefix("/"), nil)), r)
	if e.Status != 421 || !strings.Contains(e.Fix, "shop.example.com") {
		t.Errorf("%d: %s; %s", e.Status, e.Reason, e.Fix)
	}
}

func TestTheNearestRuleIsFirst(t *testing.T) {
	t.Parallel()
	get := prefix("/api/v2")
	get.Method = "GET"
	e := explain.Explain(config(rule("0", prefix("/api/v1"), nil), rule("1", get, nil), rule("2", prefix("/static"), nil)),
		request(t, "POST", "http://shop.example.com/api/v2/cart"))
	if len(e.Candidates) == 0 || e.Candidates[0].Rule != "HTTPRoute/shop/web/1/0" || len(e.Candidates[0].Misses) != 1 {
		t.Fatalf("candidates are %+v", e.Candidates)
	}
	if got := e.Candidates[0].Misses[0].String(); got != "method: POST sent, GET wanted" {
		t.Errorf("the reason is %s", got)
	}
	if !strings.Contains(e.Fix, "HTTPRoute shop/web rule 1, which wants method GET") {
		t.Errorf("the fix is %s", e.Fix)
	}
}

func TestARuleThatLosesNamesTheOneThatWins(t *testing.T) {
	t.Parallel()
	c := config(rule("0", prefix("/a/b"), nil), rule("1", prefix("/a"), nil))
	e := explain.Explain(c, request(t, "GET", "http://shop.example.com/a/b"))
	if len(e.Candidates) != 1 || e.Candidates[0].By != "HTTPRoute/shop/web/0/0" {
		t.Errorf("candidates are %+v", e.Candidates)
	}
}

func TestSettingsHaveOrigins(t *testing.T) {
	t.Parallel()
	policy := ir.ObjectRef{Kind: "BackendTrafficPolicy", Name: ir.Name{Namespace: "infra", Name: "defaults"}}
	e := explain.Explain(config(rule("0", prefix("/"), func(r *ir.Rule) {
		origins := []ir.Origin{{Setting: "timeout.http.requestTimeout", Object: policy}}
		r.Policy = &ir.RequestPolicy{RequestTimeout: new(time.Second), Origins: origins}
	})), request(t, "GET", "http://shop.example.com/"))
	for _, h := range e.Hops {
		if h.Object == "timeout.http.requestTimeout" && h.Origin == policy.String() && h.Detail == "1s" {
			return
		}
	}
	t.Errorf("hops are %+v", e.Hops)
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	r, err := explain.ParseURL("GET", "https://[2001:db8::1]:8443/a//b?c#d")
	if err != nil || r.Port != 8443 || r.ServerName != "" || r.Host != "[2001:db8::1]:8443" || r.Path != "/a//b?c" || !r.TLS {
		t.Errorf("%+v, %v", r, err)
	}
	for _, url := range []string{"ftp://a/", "http:///a", "http://a:x/"} {
		if _, err := explain.ParseURL("GET", url); err == nil {
			t.Errorf("%s is accepted", url)
		}
	}
}
