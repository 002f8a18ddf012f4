//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// broken are the ways in which a SecurityPolicy can be broken. Each names nothing that exists, or something that is no good.
var broken = []struct{ name, settings string }{
	{"a Secret with users that is missing", `basicAuth: {users: {name: missing}}`},
	{"a Secret without users", `basicAuth: {users: {name: empty}}`},
	{"a hash that proxies do not know", `basicAuth: {users: {name: bcrypt}}`},
	{"a Secret of another namespace", `basicAuth: {users: {name: users, namespace: default}}`},
	{"a Secret with API keys that is missing", `apiKeyAuth: {credentialRefs: [{name: missing}], extractFrom: [{headers: [X-Key]}]}`},
	{"a Secret without the label", `apiKeyAuth: {credentialRefs: [{name: empty}], extractFrom: [{headers: [X-Key]}]}`},
	{
		"a ConfigMap with keys that is missing",
		`jwt: {providers: [{name: p, localJWKS: {type: ValueRef, valueRef: {group: "", kind: ConfigMap, name: missing}}}]}`,
	},
	{"keys that are none", `jwt: {providers: [{name: p, localJWKS: {inline: '{"keys": []}'}}]}`},
	{
		"a server with keys that does not exist",
		`jwt: {providers: [{name: p, remoteJWKS: {uri: "http://x/y", backendRef: {name: missing, port: 80}}}]}`,
	},
	{"a server with keys that is down", `jwt: {providers: [{name: p, remoteJWKS: {uri: "http://x/y", backendRef: {name: down, port: 80}}}]}`},
	{
		"a server with keys of another namespace",
		`jwt: {providers: [{name: p, remoteJWKS: {uri: "http://x/y", backendRef: {name: kubernetes, namespace: default, port: 443}}}]}`,
	},
	{"an authorization server that does not exist", `extAuth: {grpc: {backendRef: {name: missing, port: 80}}, failOpen: true}`},
	{"an authorization server that is down", `extAuth: {http: {backendRef: {name: down, port: 80}}, timeout: 200ms}`},
	{"a client secret that is missing", `oidc: {clientID: a, clientSecret: {name: missing}, provider: {issuer: i, ` +
		`authorizationEndpoint: "https://i.example/a", tokenEndpoint: "http://i.example/t", backendRef: {name: down, port: 80}}}`},
	{"a provider that is down", `oidc: {clientID: a, clientSecret: {name: client}, provider: {issuer: i, ` +
		`authorizationEndpoint: "https://i.example/a", tokenEndpoint: "http://i.example/t", backendRef: {name: down, port: 80}}}`},
	{
		"an expression that proxies do not know",
		`authorization: {defaultAction: Allow, rules: [{action: Deny, operation: {path: {type: RegularExpression, value: "(?=a)"}}}]}`,
	},
	{"a header that HTTP does not allow", `{cors: {allowHeaders: ["a b"]}}`},
}

// TestCase21BrokenSecurityPolicy breaks a policy in every way it can be broken, one after the other, and once more by deleting what it
// needs while it is in use. Requests, some with credentials of every kind, never reach the backend while the policy is Programmed.
func TestCase21BrokenSecurityPolicy(t *testing.T) {
	t.Parallel()
	requests := amount(10_000, 500)
	c := begin(t, "21", "a security policy that is broken in every way")
	w := newFixture(t)
	const host = "guarded.example.com"
	var reached atomic.Int64
	w.ServeHere(t, "guarded", func(response http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = response.Write([]byte("{}"))
	})
	w.Make(t,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "empty"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bcrypt"}, Data: map[string][]byte{v1alpha1.HtpasswdKey: []byte("ali:$2y$05$abc")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "client"}, Data: map[string][]byte{v1alpha1.OIDCClientSecretKey: []byte("hidden")}},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "down"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"no": "pod"}},
		})
	w.Route(t, "guarded", gatewayName, host, "guarded")
	w.WaitServed(t, w.address, host)
	policy := &v1alpha1.SecurityPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "policy"}}
	sent := 0
	for i, way := range broken {
		w.setPolicy(t, policy, i == 0, way.settings)
		before := reached.Load()
		w.flood(t, host, requests)
		sent += requests
		if got := reached.Load() - before; got != 0 {
			t.Errorf("%s: %d of %d requests reach the backend", way.name, got, requests)
		}
	}
	// The Secret of a policy that works goes away while requests are sent, none of them with the right password.
	users := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "users"},
		Data:       map[string][]byte{v1alpha1.HtpasswdKey: []byte("ali:{SHA}0JQeaNqPOBUf+Gph/Fn3xc+fyqI=")}, // "other"
	}
	w.Make(t, users)
	w.setPolicy(t, policy, false, `basicAuth: {users: {name: users}}`)
	before := reached.Load()
	if err := w.Delete(t.Context(), users); err != nil {
		t.Fatal(err)
	}
	w.flood(t, host, requests)
	sent += requests
	if got := reached.Load() - before; got != 0 {
		t.Errorf("its Secret is deleted: %d of %d requests reach the backend", got, requests)
	}
	c.note("%s requests", grouped(sent))
	c.none(int(reached.Load()-before), "of the last reach the backend")
	c.none(nacks(t, w.OneProxy(t, gatewayName)), "NACKs of the proxy")
}

func (w *fixture) setPolicy(t *testing.T, policy *v1alpha1.SecurityPolicy, create bool, settings string) {
	t.Helper()
	spec := v1alpha1.SecurityPolicySpec{}
	if err := yaml.UnmarshalStrict([]byte(settings), &spec); err != nil {
		t.Fatalf("read the settings: %v", err)
	}
	spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{{
		LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{Group: gwv1.GroupName, Kind: "HTTPRoute", Name: "guarded"},
	}}
	if create {
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
	// A policy that is not accepted says that it is not Programmed. Proxies have what it means all the same, when its route is.
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
			return fmt.Errorf("read the policy: %w", err)
		}
		for _, condition := range policy.Status.Conditions {
			if condition.Type != "Programmed" || condition.ObservedGeneration < generation {
				continue
			}
			if condition.Status == metav1.ConditionTrue {
				return nil
			}
			if condition.Reason == string(gwv1.PolicyReasonInvalid) && !w.serves(ctx, "guarded.example.com") {
				return nil
			}
		}
		return fmt.Errorf("proxies do not have the policy: %+v", policy.Status.Conditions)
	})
}

// serves says whether a request without credentials is answered by the backend.
func (w *fixture) serves(ctx context.Context, host string) bool {
	_, err := w.Request(ctx, w.address, host)
	return err == nil
}

// flood sends requests with credentials of every kind, none of them good.
func (w *fixture) flood(t *testing.T, host string, number int) {
	t.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			sender := &http.Client{
				Transport:     clock.Transport{Base: &http.Transport{}, Limit: 10 * time.Second},
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			}
			for next.Add(1) <= int64(number) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+live.Host(w.address)+"/", nil)
				if err != nil {
					t.Error(err)
					return
				}
				request.Host = host
				switch next.Load() % 4 {
				case 0:
					request.SetBasicAuth("ali", "password")
				case 1:
					request.Header.Set("Authorization", "Bearer e30.e30.e30")
				case 2:
					request.Header.Set("X-Key", "(redacted)")
				}
				if response, err := sender.Do(request); err == nil {
					_ = response.Body.Close()
				}
			}
		})
	}
	group.Wait()
}
