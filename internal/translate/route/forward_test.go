package route_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

// only translates one rule.
func only(t *testing.T, rule ir.Rule) *routev3.Route {
	t.Helper()
	host, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{rule}})
	prototest.Valid(t, host)
	if len(host.GetRoutes()) != 1 {
		t.Fatalf("one rule became %d routes", len(host.GetRoutes()))
	}
	return host.GetRoutes()[0]
}

// answer tells what a route does with requests: the shares of its clusters, or the status it answers itself.
func answer(r *routev3.Route) string {
	if direct := r.GetDirectResponse(); direct != nil {
		return fmt.Sprint(direct.GetStatus())
	}
	if cluster := r.GetRoute().GetCluster(); cluster != "" {
		return short(cluster)
	}
	var shares []string
	for _, c := range r.GetRoute().GetWeightedClusters().GetClusters() {
		shares = append(shares, fmt.Sprintf("%s:%d", short(c.GetName()), c.GetWeight().GetValue()))
	}
	return strings.Join(shares, " ")
}

func TestForward(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		backends []ir.WeightedBackend
		want     string
	}{
		{"no backend answers 500", nil, "500"},
		{"no weight answers 500", []ir.WeightedBackend{{Backend: svc("a")}, {Backend: svc("b")}}, "500"},
		{"one backend gets everything", []ir.WeightedBackend{{Backend: svc("a"), Weight: 7}}, "a"},
		{"a backend without weight gets nothing", []ir.WeightedBackend{{Backend: svc("a"), Weight: 7}, {Backend: svc("b")}}, "a"},
		{"several share", []ir.WeightedBackend{{Backend: svc("a"), Weight: 3}, {Backend: svc("b"), Weight: 1}}, "a:3 b:1"},
		{"one that is not resolved fails", []ir.WeightedBackend{{Weight: 1}}, route.UnresolvedBackend},
		{
			"one that is not resolved fails for its share",
			[]ir.WeightedBackend{{Backend: svc("a"), Weight: 3}, {Weight: 1}},
			"a:3 " + route.UnresolvedBackend + ":1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := only(t, ir.Rule{Name: "r", Forward: &ir.Forward{Backends: tt.backends}})
			if answer(got) != tt.want {
				t.Errorf("got %q, want %q", answer(got), tt.want)
			}
			if action := got.GetRoute(); action != nil && action.GetClusterNotFoundResponseCode() != routev3.RouteAction_INTERNAL_SERVER_ERROR {
				t.Error("a cluster that is not there is not answered with 500")
			}
		})
	}
}

func TestForwardOfGRPCIsUnavailableWithoutBackend(t *testing.T) {
	t.Parallel()
	match := ir.Match{GRPC: true, Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}}
	share := only(
		t,
		ir.Rule{Name: "r", Match: match, Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: svc("a"), Weight: 3}, {Weight: 1}}}},
	)
	if code := share.GetRoute().GetClusterNotFoundResponseCode(); code != routev3.RouteAction_SERVICE_UNAVAILABLE {
		t.Errorf("the share of a backend that is not resolved is answered %s", code)
	}
	if got := answer(only(t, ir.Rule{Name: "r", Match: match, Forward: &ir.Forward{}})); got != "503" {
		t.Errorf("no backend answers %s", got)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		rule ir.Rule
		want string
	}{
		{"the status that was asked for", ir.Rule{Fail: &ir.Fail{StatusCode: 503}}, "503"},
		{"500 for a status Envoy refuses", ir.Rule{Fail: &ir.Fail{}}, "500"},
		{"500 for a rule that does nothing", ir.Rule{}, "500"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := answer(only(t, tt.rule)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	const unset = time.Duration(-1)
	tests := []struct {
		name                             string
		request, backend                 time.Duration
		wantWhole, wantPerTry, wantsIdle time.Duration
	}{
		{"none by default", unset, unset, 0, unset, unset},
		{"for the request", time.Second, unset, time.Second, unset, unset},
		{"for the backend bounds the request", unset, time.Second, time.Second, unset, unset},
		{"for both", 3 * time.Second, time.Second, 3 * time.Second, time.Second, unset},
		{"off for the request", 0, unset, 0, unset, 0},
		{"off for the request, not for the backend", 0, time.Second, 0, time.Second, 0},
		{"off for the backend", time.Second, 0, time.Second, unset, unset},
		{"longer than a stream may be idle", time.Hour, unset, time.Hour, unset, time.Hour},
	}
	given := func(d time.Duration) *time.Duration {
		if d == unset {
			return nil
		}
		return &d
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rule := to("r", path(ir.Prefix, "/"))
			rule.Policy.RequestTimeout, rule.Policy.BackendTimeout = given(tt.request), given(tt.backend)
			action := only(t, rule).GetRoute()
			if action.GetTimeout() == nil || action.GetTimeout().AsDuration() != tt.wantWhole {
				t.Errorf("timeout is %v, want %v", action.GetTimeout(), tt.wantWhole)
			}
			perTry, idle := unset, unset
			if policy := action.GetRetryPolicy(); policy != nil {
				perTry = policy.GetPerTryTimeout().AsDuration()
			}
			if action.GetIdleTimeout() != nil {
				idle = action.GetIdleTimeout().AsDuration()
			}
			if perTry != tt.wantPerTry || idle != tt.wantsIdle {
				t.Errorf("per try %v, want %v; idle %v, want %v", perTry, tt.wantPerTry, idle, tt.wantsIdle)
			}
		})
	}
}

func TestStreamsMayBeIdleForAnHour(t *testing.T) {
	t.Parallel()
	grpc, socket, limited := to("g", ir.Match{GRPC: true}), to("w", path(ir.Prefix, "/")), to("l", path(ir.Prefix, "/"))
	socket.Forward.Streams = true
	limited.Forward.Streams, limited.Policy.RequestTimeout = true, new(3*time.Hour)
	for _, c := range []struct {
		rule ir.Rule
		want time.Duration
	}{{grpc, time.Hour}, {socket, time.Hour}, {limited, 3 * time.Hour}} {
		if got := only(t, c.rule).GetRoute().GetIdleTimeout().AsDuration(); got != c.want {
			t.Errorf("%s: idle for %v, want %v", c.rule.Name, got, c.want)
		}
	}
}

func TestARewrittenHostIsForwarded(t *testing.T) {
	t.Parallel()
	plain, rule, backend := to("p", path(ir.Prefix, "/")), to("r", path(ir.Prefix, "/")), to("b", path(ir.Prefix, "/"))
	rule.Forward.Rewrite = &ir.Rewrite{Hostname: "b.example"}
	backend.Forward.Backends = append(
		backend.Forward.Backends,
		ir.WeightedBackend{Backend: svc("c"), Weight: 1, Rewrite: &ir.Rewrite{Hostname: "c.example"}},
	)
	for _, c := range []struct {
		rule ir.Rule
		want bool
	}{{plain, false}, {rule, true}, {backend, true}} {
		if got := only(t, c.rule).GetRoute().GetAppendXForwardedHost(); got != c.want {
			t.Errorf("%s: x-forwarded-host %t, want %t", c.rule.Name, got, c.want)
		}
	}
}

func TestARewrittenHostIsForwardedUnlessItsHeaderIsEdited(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]*ir.HeaderEdit{
		"set":     {Set: []ir.Header{{Name: "X-Forwarded-Host", Value: "a.example"}}},
		"added":   {Add: []ir.Header{{Name: "x-forwarded-host", Value: "a.example"}}},
		"removed": {Remove: []string{"X-Forwarded-Host"}},
	} {
		rule, backend := to("rule", path(ir.Prefix, "/")), to("backend", path(ir.Prefix, "/"))
		rule.RequestHeaders, backend.Forward.Backends[0].RequestHeaders = edit, edit
		for _, r := range []ir.Rule{rule, backend} {
			r.Forward.Rewrite = &ir.Rewrite{Hostname: "b.example"}
			if only(t, r).GetRoute().GetAppendXForwardedHost() {
				t.Errorf("x-forwarded-host is %s by a %s, and appended to", name, r.Name)
			}
		}
	}
}

func TestMirrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		mirror ir.Mirror
		want   string
	}{
		{"everything", ir.Mirror{Backend: svc("m"), Numerator: 1, Denominator: 1}, "m 100/HUNDRED"},
		{"a percentage", ir.Mirror{Backend: svc("m"), Numerator: 42, Denominator: 100}, "m 42/HUNDRED"},
		{"a fraction", ir.Mirror{Backend: svc("m"), Numerator: 1, Denominator: 3}, "m 333333/MILLION"},
		{"nothing", ir.Mirror{Backend: svc("m"), Numerator: 0, Denominator: 100}, "m 0/HUNDRED"},
		{"more than there is", ir.Mirror{Backend: svc("m"), Numerator: 5, Denominator: 4}, "m 100/HUNDRED"},
		{"no backend", ir.Mirror{Numerator: 1, Denominator: 1}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rule := to("r", path(ir.Prefix, "/"))
			rule.Forward.Mirrors = []ir.Mirror{tt.mirror}
			var got []string
			for _, p := range only(t, rule).GetRoute().GetRequestMirrorPolicies() {
				share := p.GetRuntimeFraction().GetDefaultValue()
				got = append(got, fmt.Sprintf("%s %d/%s", short(p.GetCluster()), share.GetNumerator(), share.GetDenominator()))
			}
			if strings.Join(got, ",") != tt.want {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
}
