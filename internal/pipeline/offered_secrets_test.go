package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// secretSettings are settings of a SecurityPolicy with values that no dump has, by name, and the Secret that each reads, with a value that
// differs from that of another replica.
var secretSettings = map[string]struct{ settings, secret, other string }{
	"basicAuth": {
		settings: "basicAuth: {users: {name: s}}",
		secret:   ".htpasswd: YWxpOntTSEF9VzZwaDVNbTVQejhHZ2lVTGJQZ3pHMzdtajlnPQo=",
		other:    ".htpasswd: Ym9iOntTSEF9VzZwaDVNbTVQejhHZ2lVTGJQZ3pHMzdtajlnPQo=",
	},
	"apiKeyAuth": {
		settings: "apiKeyAuth: {credentialRefs: [{name: s}], extractFrom: [{headers: [X-Key]}]}",
		secret:   "one: azE=", other: "one: azI=",
	},
	"extAuth": {
		settings: "extAuth: {grpc: {backendRef: {name: v2, port: 80}}, contextExtensions: [{name: tenant, type: ValueRef, " +
			`valueRef: {group: "", kind: Secret, name: s, key: token}}]}`,
		secret: "token: c2VjcmV0", other: "token: c2VjcmUy",
	},
	"oidc": {
		settings: "oidc: {provider: {issuer: https://a.example, authorizationEndpoint: https://a.example/auth, tokenEndpoint: " +
			"https://a.example/token, backendRef: {name: v2, port: 80}}, clientID: web, clientSecret: {name: s}}",
		secret: "client-secret: c2VjcmV0",
	},
	"CEL": {
		settings: `authorization: {defaultAction: Allow, rules: [{action: Deny, cel: "request.path == '/x'"}]}`,
		secret:   "unused: c2VjcmV0",
	},
}

// withSecret is a policy with settings for route infra/r, and the Secret that it reads.
func withSecret(settings, secret string) string {
	return fmt.Sprintf(`
kind: Secret
metadata: {namespace: infra, name: s, labels: {gatewright.dev/policy-data: ""}}
type: Opaque
data: {%s}
---
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {namespace: infra, name: p, generation: 1}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], %s}
`, secret, settings)
}

// TestReplicasServeTheSameInsteadOfARouteWithSecrets has a replica that was restarted learn from another one which version was good, of
// routes that have secrets in their settings.
func TestReplicasServeTheSameInsteadOfARouteWithSecrets(t *testing.T) {
	t.Parallel()
	for name, c := range secretSettings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, fresh := &recorder{live: true}, &recorder{live: true}
			before, after := old.plane(t), fresh.plane(t)
			put(t, before, withSecret(c.settings, c.secret)+"---"+aRoute(1, "/good"))
			before.config.step()
			put(t, before, aRoute(2, "/bad"))
			put(t, after, withSecret(c.settings, c.secret)+"---"+aRoute(2, "/bad"))
			for _, p := range []*Pipeline{before, after} {
				p.config.step()
				old.live, fresh.live = false, false
				nackHost(p, "infra/web", nil)
				p.config.step()
			}
			old.serves(t, before, "infra/web", "/good", "/bad 500")
			fresh.serves(t, after, "infra/web", "/bad 500")
			fresh.said = nil
			offerTo(after, before, old)
			after.config.step()
			fresh.serves(t, after, "infra/web", "/good", "/bad 500")
			id := ir.ParseHostID("infra/web/80|*")
			here, _ := before.graph.virtualHosts.Get(nil, id)
			if there, _ := after.graph.virtualHosts.Get(nil, id); version(there.resource) != version(here.resource) {
				t.Error("the replicas serve different versions")
			}
			want := "refuse HTTPRoute infra/r []: a proxy of Gateway infra/web rejected (NACK) generation 2: no such thing; generation 1 is " +
				"served instead, until the route changes"
			if !slices.Contains(fresh.said, want) {
				t.Errorf("said %q", fresh.said)
			}
		})
	}
}

// offerTo hands what a replica has in quarantine of route infra/r to another one.
func offerTo(to, from *Pipeline, offered *recorder) {
	for key, instead := range offered.offers {
		to.Offered("other", key, from.quarantine.RejectedDigest("HTTPRoute/infra/r", "infra/web"), instead)
	}
}

// TestARestartedReplicaNamesWhatProxiesOfAnotherServe has a proxy of one replica reject a route that others serve. Another replica, which
// was restarted, reports what the proxy serves, and sends it the same when it connects there.
func TestARestartedReplicaNamesWhatProxiesOfAnotherServe(t *testing.T) {
	t.Parallel()
	for name, c := range secretSettings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there, fresh := &recorder{live: true, ready: map[string]bool{"a": true}}, &recorder{acked: true, ready: map[string]bool{"a": true}}
			elsewhere, here := &insteads{Cache: xds.NewCache()}, &insteads{Cache: xds.NewCache()}
			first, second := there.planeOf(t, elsewhere), fresh.planeOf(t, here)
			reject := func(p *Pipeline) {
				t.Helper()
				nackDomain(p, "*", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/r/0/0"} })
				p.config.step()
			}
			put(t, first, withSecret(c.settings, c.secret)+"---"+aRoute(1, "/good"))
			first.config.step()
			put(t, first, aRoute(2, "/bad"))
			first.config.step()
			there.live, there.acked = false, true
			reject(first)

			put(t, second, withSecret(c.settings, c.secret)+"---"+aRoute(2, "/bad"))
			second.config.step()
			offerTo(second, first, there)
			fresh.said = nil
			second.config.step()
			const message = "refuse HTTPRoute infra/r []: a proxy of Gateway infra/web rejected (NACK) generation 2: no such thing; " +
				"generation 1 is served instead, until the route changes at %s, and proxies that accept this version serve it; " +
				"replace those that are outdated"
			fresh.recorded(t, fmt.Sprintf(message, "some proxies"))
			// The proxy connects to this replica.
			reject(second)
			fresh.recorded(t, fmt.Sprintf(message, "proxy a"))
			if elsewhere.last == nil || version(here.last) != version(elsewhere.last) {
				t.Errorf("the proxy gets version %s instead, and %s from the other replica", version(here.last), version(elsewhere.last))
			}
		})
	}
}

// TestVersionsThatDifferOnlyInSecretsAreNotTakenForEachOther has two replicas that have not seen the same Secret.
func TestVersionsThatDifferOnlyInSecretsAreNotTakenForEachOther(t *testing.T) {
	t.Parallel()
	for name, c := range secretSettings {
		if c.other == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, fresh := &recorder{live: true}, &recorder{live: true}
			before, after := old.plane(t), fresh.plane(t)
			put(t, before, withSecret(c.settings, c.secret)+"---"+aRoute(1, "/good"))
			before.config.step()
			put(t, before, aRoute(2, "/bad"))
			put(t, after, withSecret(c.settings, c.other)+"---"+aRoute(2, "/bad"))
			before.config.step()
			after.config.step()
			old.live = false
			nackHost(before, "infra/web", nil)
			before.config.step()
			offerTo(after, before, old)
			after.config.step()
			fresh.serves(t, after, "infra/web", "/bad")
			put(t, after, withSecret(c.settings, c.secret))
			after.config.step()
			after.config.step()
			fresh.serves(t, after, "infra/web", "/good", "/bad 500")
		})
	}
}

// secretKey is the key of a client in an offer.
var secretKey = regexp.MustCompile(`"Key":"[^"]*"`)

// TestOffersOfAnEarlierReleaseAreNoSecrets has an offer in which something stands for a secret. A client that sends that must not pass.
func TestOffersOfAnEarlierReleaseAreNoSecrets(t *testing.T) {
	t.Parallel()
	c := secretSettings["apiKeyAuth"]
	old, fresh := &recorder{live: true}, &recorder{live: true}
	before, after := old.plane(t), fresh.plane(t)
	put(t, before, withSecret(c.settings, c.secret)+"---"+aRoute(1, "/good"))
	before.config.step()
	put(t, before, strings.Replace(withSecret(c.settings, c.secret), "name: r}", "name: another}", 1)+"---"+aRoute(2, "/bad"))
	put(t, after, aRoute(2, "/bad"))
	before.config.step()
	after.config.step()
	old.live = false
	nackHost(before, "infra/web", nil)
	before.config.step()
	old.serves(t, before, "infra/web", "/good")
	for key, instead := range old.offers {
		old.offers[key] = secretKey.ReplaceAll(instead, []byte(`"Key":"(redacted)"`))
	}
	offerTo(after, before, old)
	after.config.step()
	fresh.serves(t, after, "infra/web", "/bad 500")
}
