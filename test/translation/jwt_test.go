//go:build translation

package translation

import (
	"encoding/base64"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/test/jwt"
)

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

func TestJWT(t *testing.T) {
	t.Parallel()
	good, evil := jwt.New(t, "good"), jwt.New(t, "good")
	p := startProxy(t, guarded(&ir.RequestPolicy{
		JWT: &ir.JWT{Policy: policyName, Providers: []ir.JWTProvider{
			{
				Name: "p", Issuer: "https://issuer.example", Audiences: []string{"app"}, Keys: good.KeySet(),
				Claims: []ir.ClaimHeader{{Header: "x-sub", Claim: "sub"}, {Header: "x-team", Claim: "org.team"}},
			},
			{Name: "other", Issuer: "other", Keys: evil.KeySet(), Headers: []ir.TokenHeader{{Name: "x-token", Prefix: "T "}}},
		}},
		Authorization: []ir.Authorization{{Policy: policyName, Claims: true, Rules: []ir.AuthorizationRule{
			{Claims: []ir.ClaimValues{{Provider: "p", Paths: [][]string{{"groups"}}, Values: []string{"banned"}, List: true}}},
			{Allow: true, Claims: []ir.ClaimValues{
				{Provider: "p", Paths: [][]string{{"org", "team"}}, Values: []string{"a", "b"}},
				{Provider: "p", Paths: [][]string{{"scope"}, {"scp"}}, Values: []string{"read"}, List: true},
			}},
		}}},
	}), nil)
	claims := func(change func(map[string]any)) map[string]any {
		all := map[string]any{
			"iss": "https://issuer.example", "aud": "app", "sub": "ali", "scope": "write read", "org": map[string]any{"team": "b"},
			"groups": []string{"x"},
		}
		if change != nil {
			change(all)
		}
		return all
	}
	for _, a := range []asked{
		{name: "nothing", want: 401},
		{name: "a forged header", headers: map[string]string{"X-Sub": "ali"}, want: 401},
		{
			name: "a token", headers: bearer(good.Token(claims(nil))), want: 200,
			seen: map[string]string{"X-Sub": "ali", "X-Team": "b"},
		},
		{name: "a token in the query", path: "/?access_token=" + good.Token(claims(nil)), want: 200},
		{name: "a signature of another key", headers: bearer(evil.Token(claims(nil))), want: 401},
		{name: "no signature", headers: bearer(unsigned(good.Token(claims(nil)))), want: 401},
		{
			name: "expired", headers: bearer(good.Token(claims(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }))),
			want: 401,
		},
		{name: "another issuer", headers: bearer(good.Token(claims(func(c map[string]any) { c["iss"] = "x" }))), want: 401},
		{name: "another audience", headers: bearer(good.Token(claims(func(c map[string]any) { c["aud"] = "x" }))), want: 403},
		{name: "another team", headers: bearer(good.Token(claims(func(c map[string]any) { c["org"] = map[string]any{"team": "c"} }))), want: 403},
		{name: "another scope", headers: bearer(good.Token(claims(func(c map[string]any) { c["scope"] = "reader" }))), want: 403},
		{
			name:    "a list of scopes",
			headers: bearer(good.Token(claims(func(c map[string]any) { delete(c, "scope"); c["scp"] = []string{"read"} }))), want: 200,
		},
		{
			name:    "a group that is denied",
			headers: bearer(good.Token(claims(func(c map[string]any) { c["groups"] = []string{"x", "banned"} }))), want: 403,
		},
		{
			name: "claims of another provider", want: 403,
			headers: map[string]string{"X-Token": "T " + evil.Token(claims(func(c map[string]any) { c["iss"] = "other" }))},
		},
	} {
		p.check(t, a)
	}
}

func unsigned(token string) string {
	parts := strings.Split(token, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
}

// TestClaimsOfAnotherPolicy: a policy of the Gateway authorizes by claims, and the policy of a route replaces its tokens.
func TestClaimsOfAnotherPolicy(t *testing.T) {
	t.Parallel()
	tenant := jwt.New(t, "t")
	deny := ir.Authorization{Policy: policyName, Claims: true, Allow: true, Rules: []ir.AuthorizationRule{
		{Claims: []ir.ClaimValues{{Provider: "p", Paths: [][]string{{"sub"}}, Values: []string{"eve"}}}},
	}}
	for name, tokens := range map[string]*ir.JWT{
		"another policy": {Policy: ir.Name{Namespace: "app", Name: "tenant"}, Providers: []ir.JWTProvider{{Name: "p", Keys: tenant.KeySet()}}},
		"turned off":     {Policy: ir.Name{Namespace: "app", Name: "tenant"}, Guard: ir.Off},
		"none":           nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProxy(t, guarded(&ir.RequestPolicy{JWT: tokens, Authorization: []ir.Authorization{deny}}), nil)
			p.check(t, asked{name: "a token", headers: bearer(tenant.Token(map[string]any{"sub": "ali"})), want: 403})
		})
	}
}

func TestRemoteKeys(t *testing.T) {
	t.Parallel()
	first, second := jwt.New(t, "1"), jwt.New(t, "2")
	var keys atomic.Value
	keys.Store("")
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := keys.Load().(string)
		if text == "" || r.URL.Path != "/jwks" || r.Host != "issuer.example" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(text))
	})
	p := startProxy(t, guarded(&ir.RequestPolicy{JWT: &ir.JWT{Policy: policyName, Providers: []ir.JWTProvider{{
		Name: "p", Remote: &ir.RemoteKeys{
			Backend: svc("keys"), URI: "http://issuer.example/jwks", Cache: time.Second, Retry: 100 * time.Millisecond,
		},
	}}}}), map[string]http.Handler{"keys": server})
	token := func(i jwt.Signer) map[string]string { return bearer(i.Token(map[string]any{"sub": "ali"})) }
	p.check(t, asked{name: "no keys yet", headers: token(first), want: 401})
	keys.Store(first.KeySet())
	p.eventually(t, asked{name: "the first key", headers: token(first), want: 200})
	p.check(t, asked{name: "a key that is not there yet", headers: token(second), want: 401})
	keys.Store(second.KeySet())
	p.eventually(t, asked{name: "the second key", headers: token(second), want: 200})
	p.eventually(t, asked{name: "the first key, rotated", headers: token(first), want: 401})
}

// TestReroute: a claim leads to another route, whose own policy counts too.
func TestReroute(t *testing.T) {
	t.Parallel()
	public, private := jwt.New(t, "public"), jwt.New(t, "private")
	host := guarded(&ir.RequestPolicy{JWT: &ir.JWT{Policy: policyName, Providers: []ir.JWTProvider{{
		Name: "p", Issuer: "public", Keys: public.KeySet(), Claims: []ir.ClaimHeader{{Header: "x-plan", Claim: "plan"}}, Reroute: true,
	}}}})
	inner := host.Rules[0]
	inner.Name, inner.Match.Headers = "HTTPRoute/a/inner/0/0", []ir.NamedMatch{{Name: "x-plan", StringMatch: ir.StringMatch{Value: "gold"}}}
	inner.Policy = &ir.RequestPolicy{JWT: &ir.JWT{Policy: ir.Name{Namespace: "app", Name: "inner"}, Providers: []ir.JWTProvider{{
		Name: "p", Issuer: "private", Keys: private.KeySet(), Headers: []ir.TokenHeader{{Name: "x-private"}},
	}}}}
	open := host.Rules[0]
	open.Name, open.Match.Headers = "HTTPRoute/a/open/0/0", []ir.NamedMatch{{Name: "x-plan", StringMatch: ir.StringMatch{Value: "free"}}}
	open.Policy = nil
	open.RequestHeaders = &ir.HeaderEdit{Set: []ir.Header{{Name: "x-route", Value: "free"}}}
	host.Rules = []ir.Rule{inner, open, host.Rules[0]}
	p := startProxy(t, host, nil)
	with := func(plan string) map[string]string {
		return bearer(public.Token(map[string]any{"iss": "public", "plan": plan}))
	}
	gold := with("gold")
	gold["X-Private"] = private.Token(map[string]any{"iss": "private"})
	for _, a := range []asked{
		{name: "nothing", want: 401},
		{name: "no other route", headers: with("x"), want: 200},
		{name: "another route without a policy", headers: with("free"), want: 200, seen: map[string]string{"X-Route": "free"}},
		{name: "another route, without its token", headers: with("gold"), want: 401},
		{name: "another route, with its token", headers: gold, want: 200},
	} {
		p.check(t, a)
	}
}
