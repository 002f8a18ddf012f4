//go:build translation

package translation

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/test/jwt"
)

// guarded is a host whose one rule has a policy.
func guarded(policy *ir.RequestPolicy) ir.VirtualHost {
	return ir.VirtualHost{Domain: "*", Rules: []ir.Rule{{
		Name: "HTTPRoute/a/b/0/0", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}}, Policy: policy,
		Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: svc("echo"), Weight: 1}}},
	}}}
}

var policyName = ir.Name{Namespace: "app", Name: "policy"}

func TestBasicAuth(t *testing.T) {
	t.Parallel()
	p := startProxy(t, guarded(&ir.RequestPolicy{BasicAuth: &ir.BasicAuth{
		Users: "ali:{SHA}" + "W6ph5Mm5Pz8GgiULbPgzG37mj9g=", UserHeader: "x-user", // "password"
	}}), nil)
	basic := func(text string) map[string]string {
		return map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(text)), "X-User": "root"}
	}
	for _, a := range []asked{
		{name: "nothing", want: 401},
		{name: "a forged user", headers: map[string]string{"X-User": "ali"}, want: 401},
		{name: "the password", headers: basic("ali:password"), want: 200, seen: map[string]string{"X-User": "ali"}},
		{name: "another password", headers: basic("ali:passwort"), want: 401},
		{name: "another user", headers: basic("eve:password"), want: 401},
	} {
		p.check(t, a)
	}
}

func TestAPIKeyAuth(t *testing.T) {
	t.Parallel()
	p := startProxy(t, guarded(&ir.RequestPolicy{APIKeyAuth: &ir.APIKeyAuth{
		Keys:    []ir.APIKey{{Client: "one", Key: "k1"}, {Client: "two", Key: "k2"}},
		Sources: []ir.APIKeySource{{Header: "x-api-key"}, {Query: "key"}, {Cookie: "key"}}, ClientHeader: "x-client", Sanitize: true,
	}}), nil)
	for _, a := range []asked{
		{name: "nothing", want: 401},
		{name: "a forged client", headers: map[string]string{"X-Client": "one"}, want: 401},
		{name: "a header", headers: map[string]string{"X-Api-Key": "k1"}, want: 200, seen: map[string]string{"X-Client": "one", "X-Api-Key": ""}},
		{name: "a parameter", path: "/?key=k2", want: 200, seen: map[string]string{"X-Client": "two"}},
		{name: "a cookie", headers: map[string]string{"Cookie": "key=k2"}, want: 200},
		{name: "another key", headers: map[string]string{"X-Api-Key": "k3"}, want: 401},
	} {
		p.check(t, a)
	}
}

func TestAuthorization(t *testing.T) {
	t.Parallel()
	// The policy of the Gateway denies /admin, and that of the route allows two methods.
	p := startProxy(t, guarded(&ir.RequestPolicy{Authorization: []ir.Authorization{
		{Policy: policyName, Allow: true, Rules: []ir.AuthorizationRule{
			{Path: &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Prefix, Value: "/admin"}}},
			{Headers: []ir.HeaderValues{{Name: "x-tenant", Values: []string{"bad"}}}},
			{Path: &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Regex, Value: "/v[0-9]+/secret.*"}}},
			{Path: &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Prefix, Value: "/@root/caf%C3%A9"}}},
		}},
		{Policy: ir.Name{Namespace: "app", Name: "route"}, Rules: []ir.AuthorizationRule{
			{Allow: true, Methods: []string{"GET", "PUT"}, CIDRs: []string{"127.0.0.0/8"}},
			{Allow: true, Methods: []string{"POST"}, CIDRs: []string{"192.0.2.0/24"}},
			{Allow: true, Methods: []string{"DELETE"}, Path: &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Regex, Value: ".*/public"}}},
			{Allow: true, Methods: []string{"PATCH"}, Path: &ir.PathRule{StringMatch: ir.StringMatch{Value: "/admins"}, Invert: true}},
			{Allow: true, Methods: []string{"HEAD"}, Path: &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Prefix, Value: "/public"}}},
		}},
	}}), nil)
	for _, a := range []asked{
		{name: "allowed by both", want: 200},
		{name: "allowed by both, with a query", path: "/x?y=/admin", want: 200},
		{name: "a longer segment", path: "/administrator", want: 200},
		{name: "denied by the Gateway", path: "/admin", want: 403},
		{name: "below it", path: "/admin/x", want: 403},
		{name: "with a query", path: "/admin?x", want: 403},
		{name: "two slashes", path: "//admin", want: 403},
		{name: "an escaped slash", path: "/%2fadmin/x", want: 403},
		{name: "an escaped slash behind", path: "/admin%2Fx", want: 403},
		{name: "a backslash", path: "/\\admin", want: 403},
		{name: "dots", path: "/x/../admin", want: 403},
		{name: "dots before an escaped slash", path: "/x/..%2fadmin", want: 403},
		{name: "dots behind an escaped slash", path: "/x%5C..", want: 403},
		{name: "an escaped letter", path: "/%61dmin", want: 403},
		{name: "parameters", path: "/admin;a=b", want: 403},
		{name: "parameters before it", path: "/;a/admin", want: 403},
		{name: "escaped parameters", path: "/admin%3Ba/x", want: 403},
		{name: "dots with parameters", path: "/q/..;/admin", want: 403},
		{name: "a dot with parameters", path: "/.;a=b/admin", want: 403},
		{name: "escaped dots with parameters", path: "/q/%2e%2e;/admin", want: 403},
		{name: "dots with escaped parameters", path: "/q/..%3b/admin", want: 403},
		{name: "a space behind", path: "/admin%20", want: 403},
		{name: "an escaped question mark", path: "/admin%3Fx", want: 403},
		{name: "parameters of another path", path: "/public;a=b", want: 200},
		{name: "escaped characters", path: "/%40root/caf%c3%a9", want: 403},
		{name: "characters that are not escaped", path: "/@root/caf%C3%A9/x", want: 403},
		{name: "other characters", path: "/@root/cafe", want: 200},
		{name: "an expression", path: "/v1/secrets", want: 403},
		{name: "a header", headers: map[string]string{"X-Tenant": "bad"}, want: 403},
		{name: "a header twice", headers: map[string]string{"X-Tenant": "good\nbad"}, want: 403},
		{name: "a header beside bytes that are not UTF-8", headers: map[string]string{"X-Tenant": "\xff,bad"}, want: 403},
		{name: "another header", headers: map[string]string{"X-Tenant": "good"}, want: 200},
		{name: "a method that no rule allows", method: "OPTIONS", want: 403},
		{name: "an address that is not allowed", method: "POST", want: 403},
		{name: "a forged address", method: "POST", headers: map[string]string{"X-Forwarded-For": "192.0.2.1"}, want: 403},
		{name: "an expression that allows", method: "DELETE", path: "/a/public?x=y", want: 200},
		{name: "a query is no path", method: "DELETE", path: "/a?x=/public", want: 403},
		{name: "an inverted path", method: "PATCH", path: "/x", want: 200},
		{name: "the path that is inverted", method: "PATCH", path: "/admins?x", want: 403},
		{name: "the same, spelled otherwise", method: "PATCH", path: "//admins", want: 403},
		{name: "the same, behind dots", method: "PATCH", path: "/x%2f..%2fadmins", want: 403},
		{name: "a path that is allowed", method: "HEAD", path: "/public/x..y?../z", want: 200},
		{name: "parameters in it", method: "HEAD", path: "/public/x;a=b", want: 200},
		{name: "a way out of it with parameters", method: "HEAD", path: "/public/..;/secret", want: 403},
		{name: "a way out of it with escaped parameters", method: "HEAD", path: "/public/..%3b/secret", want: 403},
		{name: "a way out of an expression", method: "DELETE", path: "/public/%2e%2e;/public", want: 403},
		{name: "a way out of it", method: "HEAD", path: "/public/x%2f..%2f..%2fsecret", want: 403},
	} {
		p.check(t, a)
	}
	// By HTTP/2, queries may have any bytes.
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	for query, want := range map[string]int{"/x?\xff": 200, "/admin?\xff": 403, "/admin/x?\xff": 403, "/v1/secrets?\xff": 403} {
		path, rest, _ := strings.Cut(query, "?")
		request := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: p.address, Path: path, RawQuery: rest}}
		response, err := client.Do(request.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%q: %d, want %d", query, response.StatusCode, want)
		}
	}
}

func TestBrokenSettingsFailClosed(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]*ir.RequestPolicy{
		"cors":          {CORS: &ir.CORS{Guard: ir.Broken}},
		"jwt":           {JWT: &ir.JWT{Guard: ir.Broken}},
		"basicAuth":     {BasicAuth: &ir.BasicAuth{Guard: ir.Broken}},
		"apiKeyAuth":    {APIKeyAuth: &ir.APIKeyAuth{Guard: ir.Broken}},
		"authorization": {Authorization: []ir.Authorization{{Guard: ir.Broken, Allow: true}}},
		"extAuth":       {Auth: &ir.ExternalAuth{Guard: ir.Broken}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProxy(t, guarded(policy), nil)
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				p.check(t, asked{name: method, method: method, want: 500})
			}
		})
	}
}

func TestCSRF(t *testing.T) {
	t.Parallel()
	friends := []ir.StringMatch{{Kind: ir.Regex, Value: `(?i)[^:/]+\.friend\.example(?::443)?`}}
	p := startProxy(t, guarded(&ir.RequestPolicy{CSRF: &ir.CSRF{Origins: friends}}), nil)
	shadow := startProxy(t, guarded(&ir.RequestPolicy{CSRF: &ir.CSRF{Shadow: ir.Fraction{Numerator: 1, Denominator: 1}}}), nil)
	origin := func(o string) map[string]string { return map[string]string{"Origin": o} }
	for _, a := range []asked{
		{name: "a request that changes nothing", headers: origin("https://evil.example"), want: 200},
		{name: "no origin", method: "POST", want: 403},
		{name: "its own origin", method: "POST", headers: origin("https://a.example"), want: 200},
		{name: "another origin", method: "POST", headers: origin("https://evil.example"), want: 403},
		{name: "null", method: "DELETE", headers: origin("null"), want: 403},
		{name: "an additional origin", method: "PUT", headers: origin("https://x.friend.example"), want: 200},
		{name: "almost an additional origin", method: "PUT", headers: origin("https://x.friend.example.evil"), want: 403},
	} {
		p.check(t, a)
		a.want = 200
		shadow.check(t, a)
	}
}

func TestExternalAuth(t *testing.T) {
	t.Parallel()
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/check" && r.URL.Path != "/check/":
			w.WriteHeader(http.StatusTeapot)
		case r.Header.Get("X-Slow") != "":
			<-r.Context().Done() // Envoy gives up
		case r.Header.Get("Authorization") != "yes":
			w.WriteHeader(http.StatusUnauthorized)
		}
		w.Header().Set("X-User", "ali")
		w.Header().Set("X-Plan", r.Header.Get("X-Slow"))
	})
	servers := map[string]http.Handler{"auth": server}
	auth := ir.ExternalAuth{
		Backend: svc("auth"), PathOverride: "/check", RequestHeaders: []string{"x-slow"}, ResponseHeaders: []string{"x-user", "x-team"},
		Timeout: 3 * time.Second, StatusOnError: 502,
	}
	closed := startProxy(t, guarded(&ir.RequestPolicy{Auth: &auth}), servers)
	failOpen := auth
	failOpen.FailOpen = true
	open := startProxy(t, guarded(&ir.RequestPolicy{Auth: &failOpen}), servers)
	yes := map[string]string{"Authorization": "yes", "X-User": "root", "X-Team": "root"}
	slow := map[string]string{"Authorization": "yes", "X-Slow": "yes", "X-User": "root"}
	closed.check(t, asked{name: "nothing", want: 401})
	// The server says nothing about a team.
	seen := map[string]string{"X-User": "ali", "X-Team": ""}
	closed.check(t, asked{name: "allowed", path: "/x", headers: yes, want: 200, seen: seen})
	closed.check(t, asked{name: "no answer", headers: slow, want: 502})
	open.check(t, asked{name: "nothing, and fail open", want: 401})
	open.check(t, asked{name: "no answer, and fail open", headers: slow, want: 200, seen: map[string]string{"X-User": ""}})
}

// authServer lets requests of the route shop pass.
type authServer struct {
	authv3.UnimplementedAuthorizationServer
}

func (authServer) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	named := r.GetAttributes().GetRouteMetadataContext().GetFilterMetadata()["gatewright"].AsMap()
	text := fmt.Sprint(named["resources"])
	if text != "[map[kind:HTTPRoute name:b namespace:a]]" {
		return &authv3.CheckResponse{Status: status.New(codes.PermissionDenied, text).Proto()}, nil
	}
	return &authv3.CheckResponse{Status: status.New(codes.OK, "").Proto()}, nil
}

// TestRouteMetadata: a gRPC server learns which route a request is for, if the policy says so.
func TestRouteMetadata(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[bool]int{true: 200, false: 403} {
		server := grpc.NewServer()
		authv3.RegisterAuthorizationServer(server, authServer{})
		auth := &ir.ExternalAuth{Backend: svc("auth"), GRPC: true, RouteMetadata: wanted}
		auth.Backend.Protocol = ir.BackendHTTP2
		p := startProxy(t, guarded(&ir.RequestPolicy{Auth: auth}), map[string]http.Handler{"auth": server})
		p.check(t, asked{name: fmt.Sprintf("asked for: %t", wanted), want: want})
	}
}

// contextServer lets requests pass with the values that it expects, and no others.
type contextServer struct {
	authv3.UnimplementedAuthorizationServer
	want map[string]string
}

func (s contextServer) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	if got := r.GetAttributes().GetContextExtensions(); !maps.Equal(got, s.want) {
		return &authv3.CheckResponse{Status: status.New(codes.PermissionDenied, fmt.Sprint(got)).Proto()}, nil
	}
	return &authv3.CheckResponse{Status: status.New(codes.OK, "").Proto()}, nil
}

// TestAuthContext: a gRPC server sees the values of the policy that decides, and none of another. Everything else of the rule is as it is
// without them.
func TestAuthContext(t *testing.T) {
	t.Parallel()
	asks := func(server string, reroute bool, values ...ir.ContextValue) *ir.RequestPolicy {
		auth := &ir.ExternalAuth{Backend: svc(server), GRPC: true, Context: values, Reroute: reroute}
		auth.Backend.Protocol = ir.BackendHTTP2
		return &ir.RequestPolicy{Auth: auth}
	}
	rule := func(path string, policy *ir.RequestPolicy, backends ...ir.WeightedBackend) ir.Rule {
		return ir.Rule{
			Name: "HTTPRoute/a/b/" + path + "/0", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: path}}, Policy: policy,
			Forward: &ir.Forward{Backends: backends},
		}
	}
	echo := ir.WeightedBackend{Backend: svc("echo"), Weight: 1}
	edits := ir.WeightedBackend{Backend: svc("echo"), Weight: 1, RequestHeaders: &ir.HeaderEdit{Set: []ir.Header{{Name: "x-a", Value: "b"}}}}
	tier, region := ir.ContextValue{Name: "tier", Value: "gold"}, ir.ContextValue{Name: "region", Value: "eu"}
	handlers := map[string]http.Handler{}
	for name, want := range map[string]map[string]string{
		"host": {"tier": "gold"}, "rule": {"region": "eu"}, "both": {"region": "eu", "tier": "gold"}, "none": {},
	} {
		server := grpc.NewServer()
		authv3.RegisterAuthorizationServer(server, contextServer{want: want})
		handlers[name] = server
	}
	p := startProxy(t, ir.VirtualHost{
		Domain: "*", Policy: asks("host", false, tier), Rules: []ir.Rule{
			rule("/host", nil, echo), rule("/rule", asks("rule", false, region), echo), rule("/both", asks("both", true, region, tier), edits),
			rule("/none", asks("none", false), echo), rule("/weights", nil, echo, edits), rule("/wrong", asks("rule", false, tier), echo),
			rule("/open", &ir.RequestPolicy{Auth: &ir.ExternalAuth{Guard: ir.Off}}, echo),
		},
	}, handlers)
	for _, a := range []asked{
		{name: "of the host", path: "/host", want: 200},
		{name: "of the rule", path: "/rule", want: 200},
		{name: "two values, and the rule is chosen again", path: "/both", want: 200, seen: map[string]string{"X-A": "b"}},
		{name: "none beside others", path: "/none", want: 200},
		{name: "with several backends", path: "/weights", want: 200},
		{name: "not those it expects", path: "/wrong", want: 403},
		{name: "turned off", path: "/open", want: 200},
	} {
		p.check(t, a)
	}
}

func TestAnyAuthentication(t *testing.T) {
	t.Parallel()
	issuer := jwt.New(t, "i")
	p := startProxy(t, guarded(&ir.RequestPolicy{
		Authentication: &ir.Authentication{Any: true},
		APIKeyAuth: &ir.APIKeyAuth{
			Keys: []ir.APIKey{{Client: "one", Key: "k1"}}, Sources: []ir.APIKeySource{{Header: "x-api-key"}, {Cookie: "key"}, {Query: "key"}},
			ClientHeader: "x-client", Sanitize: true,
		},
		BasicAuth: &ir.BasicAuth{Users: "ali:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", UserHeader: "x-user"},
		JWT: &ir.JWT{Policy: policyName, Providers: []ir.JWTProvider{{
			Name: "p", Keys: issuer.KeySet(), Claims: []ir.ClaimHeader{{Header: "x-sub", Claim: "sub"}},
		}}},
		Authorization: []ir.Authorization{{Policy: policyName, Allow: true}},
	}), nil)
	forged := func(name, value string) map[string]string {
		return map[string]string{name: value, "X-Client": "forged", "X-User": "forged", "X-Sub": "forged"}
	}
	token := issuer.Token(map[string]any{"sub": "ali"})
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("ali:password"))
	for _, a := range []asked{
		{name: "nothing", headers: forged("A", "b"), want: 401},
		{name: "a key", headers: forged("X-Api-Key", "k1"), want: 200, seen: map[string]string{"X-Client": "one", "X-User": "", "X-Sub": ""}},
		{name: "a key in a cookie", headers: forged("Cookie", "a=b; key=k1"), want: 200, seen: map[string]string{"X-Client": "one"}},
		{name: "a key in the query", path: "/?key=k1", want: 200},
		{name: "a wrong key", headers: forged("X-Api-Key", "k2"), want: 401},
		{
			name: "a password", headers: forged("Authorization", basic), want: 200,
			seen: map[string]string{"X-User": "ali", "X-Client": "", "X-Sub": ""},
		},
		{name: "a wrong password", headers: forged("Authorization", basic+"x"), want: 401},
		{
			name: "a token", headers: forged("Authorization", "Bearer "+token), want: 200,
			seen: map[string]string{"X-Sub": "ali", "X-User": "", "X-Client": ""},
		},
		{name: "a wrong token", headers: forged("Authorization", "Bearer "+unsigned(token)), want: 401},
		{name: "a token in the query", path: "/?access_token=" + token, want: 200},
		{name: "an unknown scheme", headers: forged("Authorization", "Digest x"), want: 401},
		{name: "a scheme in another case", headers: forged("Authorization", "basic "+basic[6:]), want: 401},
		{name: "a wrong key and a token", headers: map[string]string{"X-Api-Key": "k2", "Authorization": "Bearer " + token}, want: 401},
	} {
		p.check(t, a)
	}
}

// TestPolicyOfAHost: the rules of a host share a policy, and two have another.
func TestPolicyOfAHost(t *testing.T) {
	t.Parallel()
	issuer := jwt.New(t, "i")
	host := guarded(nil)
	host.Policy = &ir.RequestPolicy{JWT: &ir.JWT{Policy: policyName, Providers: []ir.JWTProvider{{Name: "p", Keys: issuer.KeySet()}}}}
	open, broken := host.Rules[0], host.Rules[0]
	open.Name, open.Match.Path.Value = "HTTPRoute/a/open/0/0", "/open"
	open.Policy = &ir.RequestPolicy{JWT: &ir.JWT{Guard: ir.Off}}
	broken.Name, broken.Match.Path.Value = "HTTPRoute/a/broken/0/0", "/broken"
	broken.Policy = &ir.RequestPolicy{JWT: host.Policy.JWT, BasicAuth: &ir.BasicAuth{Guard: ir.Broken}}
	host.Rules = []ir.Rule{open, broken, host.Rules[0]}
	p := startProxy(t, host, nil)
	token := bearer(issuer.Token(map[string]any{"sub": "ali"}))
	p.check(t, asked{name: "nothing", want: 401})
	p.check(t, asked{name: "a token", headers: token, want: 200})
	p.check(t, asked{name: "a rule that turns it off", path: "/open", want: 200})
	p.check(t, asked{name: "a rule that is broken", path: "/broken", headers: token, want: 500})
}
