//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/jwt"
	"github.com/gatewright/gatewright/test/live"
)

// securityFixture is a Gateway with a route, and policies on either that can be replaced.
type securityFixture struct {
	*fixture
	address, host string
}

func newSecurityFixture(t *testing.T, host string) *securityFixture {
	t.Helper()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	address := w.Gateway(t, "gateway")
	w.Route(t, "route", "gateway", host, "echo")
	w.WaitServed(t, address, host)
	hash := "ali:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n" // "password"
	w.Make(t,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "users"}, Data: map[string][]byte{v1alpha1.HtpasswdKey: []byte(hash)}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "keys", Labels: map[string]string{v1alpha1.PolicyDataLabel: ""}},
			Data:       map[string][]byte{"one": []byte("k1")},
		})
	return &securityFixture{fixture: w, address: address, host: host}
}

// secure makes or replaces a policy, and waits until proxies enforce it.
func (w *securityFixture) secure(t *testing.T, name, kind, target, settings string) {
	t.Helper()
	policy := &v1alpha1.SecurityPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	spec := v1alpha1.SecurityPolicySpec{}
	if err := yaml.UnmarshalStrict([]byte(settings), &spec); err != nil {
		t.Fatalf("read the settings: %v", err)
	}
	spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{{
		LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{Group: gwv1.GroupName, Kind: gwv1.Kind(kind), Name: gwv1.ObjectName(target)},
	}}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
		policy.Spec = spec
		w.Make(t, policy)
	} else {
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
				return fmt.Errorf("read the policy: %w", err)
			}
			policy.Spec = spec
			return w.Update(ctx, policy)
		})
	}
	generation := policy.Generation
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
			return fmt.Errorf("read the policy: %w", err)
		}
		return notProgrammed(policy.Status.Conditions, generation, strings.Contains(settings, "missing"))
	})
}

// notProgrammed says why proxies do not have a generation of a policy with all that it refers to, unless something is missing on purpose:
// what a policy refers to may arrive after it.
func notProgrammed(conditions []metav1.Condition, generation int64, missing bool) error {
	c := meta.FindStatusCondition(conditions, "Programmed")
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration < generation {
		return fmt.Errorf("the policy is not Programmed: %+v", conditions)
	}
	if meta.IsStatusConditionFalse(conditions, "ResolvedRefs") && !missing {
		return fmt.Errorf("the policy refers to what does not exist: %+v", conditions)
	}
	return nil
}

// drop deletes a policy.
func (w *securityFixture) drop(t *testing.T, name string) {
	t.Helper()
	policy := &v1alpha1.SecurityPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	if err := w.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
}

// get sends a request by GET, or OPTIONS with the header X-Method.
func (w *securityFixture) get(ctx context.Context, path string, headers map[string]string) (reply, error) {
	method := http.MethodGet
	if m := headers["X-Method"]; m != "" {
		method = m
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+live.Host(w.address)+path, nil)
	if err != nil {
		return reply{}, fmt.Errorf("make a request: %w", err)
	}
	request.Host = w.host
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	browser := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 20 * time.Second,
	}
	response, err := browser.Do(request)
	if err != nil {
		return reply{}, fmt.Errorf("send a request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	r := reply{status: response.StatusCode, header: response.Header}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, fmt.Errorf("read the answer: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		_ = r.Read(content)
	}
	return r, nil
}

// expect sends a request at once: a policy that is Programmed is enforced from then on.
func (w *securityFixture) expect(t *testing.T, what, path string, headers map[string]string, want int) reply {
	t.Helper()
	r, err := w.get(t.Context(), path, headers)
	if err != nil || r.status != want {
		t.Errorf("%s: %d, %v, want %d", what, r.status, err, want)
	}
	return r
}

func (w *securityFixture) eventually(t *testing.T, what, path string, headers map[string]string, want int) {
	t.Helper()
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		r, err := w.get(ctx, path, headers)
		if err == nil && r.status != want {
			err = fmt.Errorf("%s: %d, want %d", what, r.status, want)
		}
		return err
	})
}

func basic(credentials string) map[string]string {
	return map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials)), "X-User": "forged"}
}

// TestSecurityPolicyCredentials: passwords, API keys, both, one of them, and rules at two levels.
func TestSecurityPolicyCredentials(t *testing.T) {
	t.Parallel()
	w := newSecurityFixture(t, "credentials.example.com")
	w.secure(t, "route", "HTTPRoute", "route", `basicAuth: {users: {name: users}, forwardUsernameHeader: X-User}`)
	w.expect(t, "without a password", "/", nil, http.StatusUnauthorized)
	w.expect(t, "with another password", "/", basic("ali:no"), http.StatusUnauthorized)
	if got := w.expect(t, "with the password", "/", basic("ali:password"), http.StatusOK).Headers["X-User"]; len(got) != 1 || got[0] != "ali" {
		t.Errorf("the backend sees the user %v", got)
	}
	w.host = "CREDENTIALS.example.com"
	w.expect(t, "a host in capitals", "/", nil, http.StatusUnauthorized)
	w.host = "credentials.example.com"

	w.secure(t, "gateway", "Gateway", "gateway",
		`apiKeyAuth: {credentialRefs: [{name: keys}], extractFrom: [{headers: [X-Key]}], forwardClientIDHeader: X-Client}`)
	both := basic("ali:password")
	w.expect(t, "a password alone", "/", both, http.StatusUnauthorized)
	both["X-Key"] = "k1"
	w.expect(t, "both", "/", both, http.StatusOK)
	w.secure(t, "route", "HTTPRoute", "route", `{basicAuth: {users: {name: users}}, authentication: {require: Any}}`)
	w.expect(t, "one of the two", "/", basic("ali:password"), http.StatusOK)
	w.expect(t, "the other", "/", map[string]string{"X-Key": "k1"}, http.StatusOK)
	w.expect(t, "none", "/", nil, http.StatusUnauthorized)

	w.secure(t, "gateway", "Gateway", "gateway",
		`authorization: {defaultAction: Allow, rules: [{action: Deny, operation: {path: {value: /admin}}}]}`)
	w.secure(t, "route", "HTTPRoute", "route",
		`authorization: {rules: [{action: Allow, principal: {headers: [{name: X-Ok, values: ["yes"]}]}}]}`)
	ok := map[string]string{"X-Ok": "yes"}
	w.expect(t, "allowed by both", "/", ok, http.StatusOK)
	w.expect(t, "denied by the route", "/", nil, http.StatusForbidden)
	for _, path := range []string{"/admin", "//admin", "/admin/x", "/x/../admin", "/admin;a=b", "/x/%2e%2e;/admin"} {
		w.expect(t, "denied by the Gateway: "+path, path, ok, http.StatusForbidden)
	}
	w.secure(t, "route", "HTTPRoute", "route",
		`authorization: {defaultAction: Allow, rules: [{action: Deny, cel: "request.headers['x-tenant'] == 'eve'"}]}`)
	w.expect(t, "an expression", "/", map[string]string{"X-Tenant": "eve"}, http.StatusForbidden)
	w.expect(t, "an expression that is false", "/", map[string]string{"X-Tenant": "ali"}, http.StatusOK)
	w.expect(t, "an expression that cannot be evaluated", "/", nil, http.StatusForbidden)
	w.drop(t, "route")
	w.drop(t, "gateway")
	w.eventually(t, "without policies", "/admin", nil, http.StatusOK)
}

// TestSecurityPolicyCORS: preflights pass before authentication, and no other request does.
func TestSecurityPolicyCORS(t *testing.T) {
	t.Parallel()
	w := newSecurityFixture(t, "cors.example.com")
	w.secure(t, "route", "HTTPRoute", "route",
		`{cors: {allowOrigins: ["https://*.friend.example"], allowMethods: [PUT], maxAge: 60s}, basicAuth: {users: {name: users}}}`)
	preflight := map[string]string{
		"X-Method": http.MethodOptions, "Origin": "https://a.friend.example", "Access-Control-Request-Method": http.MethodPut,
	}
	answer := w.expect(t, "a preflight", "/", preflight, http.StatusOK)
	if answer.header.Get("Access-Control-Allow-Origin") != "https://a.friend.example" {
		t.Errorf("the preflight is answered %v", answer.header)
	}
	w.expect(t, "the request without credentials", "/", map[string]string{"Origin": "https://a.friend.example"}, http.StatusUnauthorized)
	w.expect(t, "OPTIONS that is no preflight", "/", map[string]string{"X-Method": http.MethodOptions}, http.StatusUnauthorized)
	w.secure(t, "route", "HTTPRoute", "route", `csrf: {additionalOrigins: ["https://a.friend.example"]}`)
	w.expect(t, "another origin", "/", map[string]string{"X-Method": http.MethodPost, "Origin": "https://evil.example"}, http.StatusForbidden)
	friend := map[string]string{"X-Method": http.MethodPost, "Origin": "https://a.friend.example"}
	w.expect(t, "an additional origin", "/", friend, http.StatusOK)
}

func bearer(s jwt.Signer, claims map[string]any) map[string]string {
	return map[string]string{"Authorization": s.Bearer(claims)}
}

// TestSecurityPolicyJWT: tokens with keys in a ConfigMap and on a server, which rotates them and goes down; rules about claims.
func TestSecurityPolicyJWT(t *testing.T) {
	t.Parallel()
	w := newSecurityFixture(t, "jwt.example.com")
	first, second := jwt.New(t, "1"), jwt.New(t, "2")
	var served atomic.Value
	var fetches atomic.Int64
	served.Store(first.KeySet())
	stop := w.ServeHere(t, "issuer", func(response http.ResponseWriter, _ *http.Request) {
		fetches.Add(1)
		keys, _ := served.Load().(string)
		_, _ = response.Write([]byte(keys))
	})
	const remote = `{name: p, issuer: i, remoteJWKS: {uri: "http://issuer/jwks", backendRef: {name: issuer, port: 80}, cacheDuration: 2s}, ` +
		`claimToHeaders: [{claim: sub, header: X-User}]}`
	claims := func(scope string) map[string]any { return map[string]any{"iss": "i", "sub": "ali", "scope": scope} }
	w.secure(t, "gateway", "Gateway", "gateway", `{jwt: {providers: [`+remote+`]}, authorization: {rules: [`+
		`{action: Allow, principal: {jwt: {provider: p, scopes: [read]}}}]}}`)
	w.expect(t, "without a token", "/", map[string]string{"X-User": "forged"}, http.StatusUnauthorized)
	w.eventually(t, "with a token", "/", bearer(first, claims("write read")), http.StatusOK)
	user := w.expect(t, "with a token", "/", bearer(first, claims("read")), http.StatusOK).Headers["X-User"]
	if len(user) != 1 || user[0] != "ali" {
		t.Errorf("the backend sees the user %v", user)
	}
	w.expect(t, "with another scope", "/", bearer(first, claims("write")), http.StatusForbidden)
	w.expect(t, "with a key that is not there", "/", bearer(second, claims("read")), http.StatusUnauthorized)
	served.Store(second.KeySet())
	w.eventually(t, "with a key that is rotated in", "/", bearer(second, claims("read")), http.StatusOK)
	w.eventually(t, "with a key that is rotated out", "/", bearer(first, claims("read")), http.StatusUnauthorized)

	w.Make(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "jwks"}, Data: map[string]string{v1alpha1.JWKSKey: first.KeySet()}})
	w.secure(t, "route", "HTTPRoute", "route",
		`jwt: {providers: [{name: p, localJWKS: {type: ValueRef, valueRef: {group: "", kind: ConfigMap, name: jwks}}}]}`)
	w.expect(t, "rules about claims of a provider that is replaced", "/", bearer(first, claims("read")), http.StatusForbidden)
	w.secure(t, "gateway", "Gateway", "gateway", `jwt: {providers: [`+remote+`]}`)
	w.expect(t, "the token of the route", "/", bearer(first, claims("")), http.StatusOK)
	w.expect(t, "the token of the Gateway", "/", bearer(second, claims("")), http.StatusUnauthorized)
	w.secure(t, "route", "HTTPRoute", "route", `jwt: {mode: None}`)
	w.expect(t, "turned off", "/", nil, http.StatusOK)
	w.drop(t, "route")
	w.eventually(t, "turned on again", "/", nil, http.StatusUnauthorized)
	w.eventually(t, "the token of the Gateway again", "/", bearer(second, claims("")), http.StatusOK)
	// Keys that a request waited for are gone from its worker when cacheDuration ends. Those that Envoy fetches beside requests stay until it
	// has others, so it is to fetch once more, and the fetch after that shows that it has.
	last := fetches.Load()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(context.Context) error {
		if more := fetches.Load() - last; more < 2 {
			return fmt.Errorf("keys were fetched %d times more", more)
		}
		return nil
	})
	stop()
	// Keys were fetched twice more by now, without success.
	time.Sleep(5 * time.Second)
	w.expect(t, "the server is down, and keys were fetched before", "/", bearer(second, claims("")), http.StatusOK)
	w.secure(t, "gateway", "Gateway", "gateway", `jwt: {providers: [`+strings.Replace(remote, "X-User", "X-Name", 1)+`]}`)
	w.expect(t, "the server is down, and no keys were fetched", "/", bearer(second, claims("")), http.StatusUnauthorized)
}

// TestSecurityPolicyOIDC: a browser is sent to the provider, comes back with a code, and has a session.
func TestSecurityPolicyOIDC(t *testing.T) {
	t.Parallel()
	w := newSecurityFixture(t, "oidc.example.com")
	w.Make(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "client"}, Data: map[string][]byte{v1alpha1.OIDCClientSecretKey: []byte("hidden")},
	})
	w.ServeHere(t, "provider", func(response http.ResponseWriter, request *http.Request) {
		_ = request.ParseForm()
		if request.Form.Get("client_secret") != "hidden" || request.Form.Get("code") != "good" {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		_, _ = response.Write([]byte(`{"access_token": "access", "token_type": "bearer", "expires_in": 600}`))
	})
	w.secure(t, "route", "HTTPRoute", "route", `oidc: {clientID: web, clientSecret: {name: client}, forwardAccessToken: true, `+
		`provider: {issuer: "https://login.example", authorizationEndpoint: "https://login.example/auth", `+
		`tokenEndpoint: "http://provider/token", backendRef: {name: provider, port: 80}}}`)
	w.eventually(t, "without a session", "/page", nil, http.StatusFound)
	r := w.expect(t, "without a session", "/page", nil, http.StatusFound)
	location, err := url.Parse(r.header.Get("Location"))
	if err != nil || location.Host != "login.example" || location.Query().Get("client_id") != "web" {
		t.Fatalf("the browser is sent to %s", r.header.Get("Location"))
	}
	cookies := func(r reply) string {
		var list []string
		for _, c := range (&http.Response{Header: r.header}).Cookies() {
			list = append(list, c.Name+"="+c.Value)
		}
		return strings.Join(list, "; ")
	}
	state := url.QueryEscape(location.Query().Get("state"))
	w.expect(t, "a wrong code", "/oauth2/callback?code=bad&state="+state, map[string]string{"Cookie": cookies(r)}, http.StatusUnauthorized)
	back := w.expect(t, "the code", "/oauth2/callback?code=good&state="+state, map[string]string{"Cookie": cookies(r)}, http.StatusFound)
	session := w.expect(t, "a session", "/page", map[string]string{"Cookie": cookies(back)}, http.StatusOK)
	if got := session.Headers["Authorization"]; len(got) != 1 || got[0] != "Bearer access" {
		t.Errorf("the backend sees %v", got)
	}
	forged := strings.Replace(cookies(back), "OauthHMAC", "x", 1) + "; " + strings.SplitN(cookies(back), "=", 2)[0] + "=AAAA"
	w.expect(t, "a forged session", "/page", map[string]string{"Cookie": forged}, http.StatusFound)
}

// TestSecurityPolicyExtAuth asks a server that a policy names, and goes on without it.
func TestSecurityPolicyExtAuth(t *testing.T) {
	t.Parallel()
	w := newSecurityFixture(t, "extauth.example.com")
	stop := w.ServeHere(t, "server", func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path != "/check" || request.Header.Get("Authorization") != password {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		response.Header().Set("X-User", "ali")
	})
	w.secure(t, "gateway", "Gateway", "gateway",
		`extAuth: {http: {backendRef: {name: server, port: 80}, pathOverride: /check, headersToBackend: [X-User]}, `+
			`timeout: 2s, statusOnError: 502}`)
	w.expect(t, "the server refuses", "/", nil, http.StatusUnauthorized)
	w.expect(t, "the server allows", "/any", map[string]string{"Authorization": password}, http.StatusOK)
	stop()
	w.eventually(t, "the server is down", "/", map[string]string{"Authorization": password}, http.StatusBadGateway)
	w.secure(t, "gateway", "Gateway", "gateway", `extAuth: {http: {backendRef: {name: server, port: 80}}, timeout: 2s, failOpen: true}`)
	w.expect(t, "the server is down, and requests may pass", "/", nil, http.StatusOK)
}

// contextServer lets requests pass that are for the tier gold of the tenant that it knows.
type contextServer struct {
	authv3.UnimplementedAuthorizationServer
	tenant atomic.Value
}

func (s *contextServer) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	values := r.GetAttributes().GetContextExtensions()
	if values["tier"] != "gold" || values["tenant"] != s.tenant.Load() {
		return &authv3.CheckResponse{Status: &rpcstatus.Status{Code: int32(codes.PermissionDenied)}}, nil
	}
	return &authv3.CheckResponse{Status: &rpcstatus.Status{}}, nil
}

// TestSecurityPolicyContextExtensions: a gRPC server sees values of the policy, of a ConfigMap and of a Secret, and the new one once a
// Secret has changed. Without the Secret nothing passes.
func TestSecurityPolicyContextExtensions(t *testing.T) {
	t.Parallel()
	w := newSecurityFixture(t, "context.example.com")
	checks := &contextServer{}
	checks.tenant.Store("one")
	server := grpc.NewServer()
	authv3.RegisterAuthorizationServer(server, checks)
	listener := w.ListenHere(t, "server")
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	label := map[string]string{v1alpha1.PolicyDataLabel: ""}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant", Namespace: w.Namespace, Labels: label}, Data: map[string][]byte{"name": []byte("one")},
	}
	w.Make(t, secret, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "tiers", Labels: label}, Data: map[string]string{"shop": "gold"}})
	settings := func(tier string) string {
		return `extAuth: {grpc: {backendRef: {name: server, port: 80}}, contextExtensions: [{name: tier, ` + tier + `}, ` +
			`{name: tenant, type: ValueRef, valueRef: {group: "", kind: Secret, name: tenant, key: name}}]}`
	}
	w.secure(t, "gateway", "Gateway", "gateway", settings(`value: silver`))
	w.expect(t, "another tier", "/", nil, http.StatusForbidden)
	w.secure(t, "route", "HTTPRoute", "route", settings(`type: ValueRef, valueRef: {group: "", kind: ConfigMap, name: tiers, key: shop}`))
	w.expect(t, "the tier of the route", "/", nil, http.StatusOK)

	checks.tenant.Store("two")
	w.expect(t, "another tenant", "/", nil, http.StatusForbidden)
	secret.Data["name"] = []byte("two")
	if err := w.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the tenant of the changed Secret", "/", nil, http.StatusOK)
	if err := w.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "without the Secret", "/", nil, http.StatusInternalServerError)
}
