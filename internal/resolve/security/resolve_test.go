package security

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	publicKey = `{"kty":"EC","crv":"P-256","kid":"1","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",` +
		`"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}`
	// neighbours are what policies refer to.
	neighbours = `
---
kind: Secret
metadata: {namespace: app, name: users}
stringData: {}
data: {.htpasswd: YWxpOntTSEF9VzZwaDVNbTVQejhHZ2lVTGJQZ3pHMzdtajlnPQo=}
---
kind: Secret
metadata: {namespace: app, name: empty}
---
kind: Secret
metadata: {namespace: app, name: bcrypt}
data: {.htpasswd: YWxpOiQyeSQwNSRhYmM=}
---
kind: Secret
metadata: {namespace: other, name: users}
data: {.htpasswd: YWxpOntTSEF9VzZwaDVNbTVQejhHZ2lVTGJQZ3pHMzdtajlnPQo=}
---
kind: Secret
metadata: {namespace: app, name: keys, labels: {gatewright.dev/policy-data: ""}}
data: {one: azEK, two: azI=}
---
kind: Secret
metadata: {namespace: app, name: same, labels: {gatewright.dev/policy-data: ""}}
data: {three: azE=}
---
kind: Secret
metadata: {namespace: app, name: unlabelled}
---
kind: Secret
metadata: {namespace: app, name: client}
data: {client-id: aWQ=, client-secret: c2VjcmV0}
---
kind: ConfigMap
metadata: {namespace: app, name: jwks}
data: {jwks: '{"keys": [` + publicKey + `]}'}
---
kind: ConfigMap
metadata: {namespace: app, name: other}
---
kind: ConfigMap
metadata: {namespace: app, name: context, labels: {gatewright.dev/policy-data: ""}}
data: {tier: gold}
---
kind: Secret
metadata: {namespace: app, name: context, labels: {gatewright.dev/policy-data: ""}}
data: {binary: /w==}
---
kind: Service
metadata: {namespace: app, name: server}
spec: {ports: [{port: 80}]}
---
kind: Service
metadata: {namespace: other, name: server}
spec: {ports: [{port: 80}]}
`
)

func resolved(t *testing.T, settings string) Policy {
	t.Helper()
	objects := resolvetest.Objects(t, "kind: SecurityPolicy\nmetadata: {namespace: app, name: p}\nspec: "+settings+neighbours)
	objects.Limits = limits.Defaults()
	return resolve(nil, objects, "app/p")
}

// guards are those of the settings that a policy has.
func guards(p *Policy) []ir.Guard {
	var all []ir.Guard
	s := &p.Spec
	if s.CORS != nil {
		all = append(all, s.CORS.Guard)
	}
	if s.CSRF != nil {
		all = append(all, s.CSRF.Guard)
	}
	if s.ExtAuth != nil {
		all = append(all, s.ExtAuth.Guard)
	}
	if s.JWT != nil {
		all = append(all, s.JWT.Guard)
	}
	if s.OIDC != nil {
		all = append(all, s.OIDC.Guard)
	}
	if s.BasicAuth != nil {
		all = append(all, s.BasicAuth.Guard)
	}
	if s.APIKeyAuth != nil {
		all = append(all, s.APIKeyAuth.Guard)
	}
	for _, a := range s.Authorization {
		all = append(all, a.Guard)
	}
	return all
}

func provider(keys string) string { return "{jwt: {providers: [{name: p, " + keys + "}]}}" }

func oidc(more string) string {
	return "{oidc: {provider: {issuer: i, authorizationEndpoint: 'https://i.example/a', tokenEndpoint: 'http://server/t', " +
		"backendRef: {name: server, port: 80}}, clientID: a, " + more + "}}"
}

func context(list string) string {
	return "{extAuth: {grpc: {backendRef: {name: server, port: 80}}, contextExtensions: [" + list + "]}}"
}

func contextRef(kind, name, key string) string {
	return context("{name: a, type: ValueRef, valueRef: {group: '', kind: " + kind + ", name: " + name + ", key: " + key + "}}")
}

// locations is a policy with a rule for some.
func locations(fields ...string) string {
	return "{authorization: {rules: [{action: Deny, principal: {clientIPGeoLocations: [{" + strings.Join(fields, "}, {") + "}]}}]}}"
}

// TestWhatDatabasesDoNotHaveIsUnserved: a rule asks for what the proxies of a Gateway know, or the policy says what they lack.
func TestWhatDatabasesDoNotHaveIsUnserved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, location string
		databases      ir.GeoDatabases
		// lacks is a part of what the policy says, empty where nothing is missing.
		lacks string
	}{
		{"a country in a database of countries", "country: DE", ir.GeoDatabases{Country: "/a"}, ""},
		{"a country in a database of cities", "country: DE", ir.GeoDatabases{City: "/a"}, ""},
		{"a country without a database", "country: DE", ir.GeoDatabases{ASN: "/a"}, "countryDBPath or cityDBPath"},
		{"a city without a database", "country: DE, city: Munich", ir.GeoDatabases{Country: "/a"}, "maxMind.cityDBPath"},
		{"a region without a database", "region: BY", ir.GeoDatabases{Country: "/a"}, "maxMind.cityDBPath"},
		{"a number in a database of providers", "asn: 1", ir.GeoDatabases{ISP: "/a"}, ""},
		{"a number without a database", "asn: 1", ir.GeoDatabases{City: "/a"}, "asnDBPath or ispDBPath"},
		{"a provider without a database", "isp: a", ir.GeoDatabases{ASN: "/a"}, "maxMind.ispDBPath"},
		{"a network", "anonymous: {isVPN: true}", ir.GeoDatabases{AnonymousIP: "/a"}, ""},
		{"a network without a database", "anonymous: {isVPN: false}", ir.GeoDatabases{City: "/a"}, "maxMind.anonymousIPDBPath"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := resolved(t, locations(c.location))
			gateway := ir.Gateway{Name: ir.Name{Namespace: "infra", Name: "gw"}}
			gateway.Fleet.Proxies.GeoIP = c.databases
			policy := request(&p.Spec)
			host := ir.VirtualHost{Policy: &policy}.WithDatabases(c.databases)
			if host.Policy.FailsClosed() != (c.lacks != "") {
				t.Errorf("requests are answered with an error: %t", host.Policy.FailsClosed())
			}
			problem := unserved(&p, &gateway)
			if (problem != nil) != (c.lacks != "") || problem != nil && !strings.Contains(problem.Message, c.lacks) {
				t.Errorf("the policy says %v, want %q", problem, c.lacks)
			}
		})
	}
}

// TestEverySettingThatCannotBeServedIsBroken: a setting that is there and cannot be resolved is there all the same, as one that lets
// nothing pass, and the policy says why.
func TestEverySettingThatCannotBeServedIsBroken(t *testing.T) {
	t.Parallel()
	const inline = `localJWKS: {inline: '{"keys": [` + publicKey + `]}'}`
	for _, c := range []struct {
		name, settings string
		// problem is a part of what the policy says, empty for a setting that can be served.
		problem string
	}{
		{"CORS", "{cors: {allowOrigins: ['https://a.example']}}", ""},
		{"CORS with a header that is none", "{cors: {allowHeaders: ['a b']}}", "not a name that HTTP allows"},
		{"CSRF", "{csrf: {additionalOrigins: ['https://a.example']}}", ""},
		{"CSRF for more than all", "{csrf: {shadowFraction: {numerator: 200}}}", "not a share of a whole"},
		{"context extensions", context("{name: a, value: b}, {name: c, type: Value, value: ''}"), ""},
		{"a context extension of a Secret", contextRef("Secret", "keys", "one"), ""},
		{"a context extension of a ConfigMap", contextRef("ConfigMap", "context", "tier"), ""},
		{"a context extension of no Secret", contextRef("Secret", "missing", "a"), "there is no Secret app/missing"},
		{"a context extension of no ConfigMap", contextRef("ConfigMap", "missing", "a"), "there is no ConfigMap app/missing"},
		{"a context extension of no key", contextRef("Secret", "keys", "three"), "Secret app/keys has no key three"},
		{"a context extension without the label", contextRef("Secret", "client", "client-secret"), "which has no label"},
		{"a context extension of a ConfigMap without the label", contextRef("ConfigMap", "jwks", "jwks"), "which has no label"},
		{"a context extension that is no text", contextRef("Secret", "context", "binary"), "no text of at most 4096 bytes"},
		{"a context extension of a Service", contextRef("Service", "server", "a"), "refers to a Service"},
		{"a context extension without a value", context("{name: a, type: ValueRef, value: b}"), "type ValueRef needs valueRef"},
		{"two context extensions of a name", context("{name: a, value: b}, {name: a, value: c}"), "two of the name \"a\""},
		{"a context extension that is too long", context("{name: a, value: " + strings.Repeat("b", 4097) + "}"), "have 4097 bytes"},
		{
			"context extensions that are too long together",
			context("{name: a, value: " + strings.Repeat("b", 4000) + "}, {name: c, value: " + strings.Repeat("d", 100) + "}"), "have 4100 bytes",
		},
		{"too many context extensions", context(strings.Repeat("{name: a, value: b}, ", 17)), "there are 17, and 16 are allowed"},
		{
			"context extensions by HTTP", "{extAuth: {http: {backendRef: {name: server, port: 80}}, contextExtensions: [{name: a, value: b}]}}",
			"gRPC servers only",
		},
		{"users", "{basicAuth: {users: {name: users}}}", ""},
		{"no Secret", "{basicAuth: {users: {name: missing}}}", "there is no Secret app/missing"},
		{"no reference", "{basicAuth: {}}", "users is missing"},
		{"a Secret without users", "{basicAuth: {users: {name: empty}}}", "it has no users"},
		{"a hash that proxies do not know", "{basicAuth: {users: {name: bcrypt}}}", "line 1 is not `user:{SHA}hash`"},
		{"a Secret of another namespace", "{basicAuth: {users: {name: users, namespace: other}}}", "no ReferenceGrant"},
		{"another kind", "{basicAuth: {users: {name: users, kind: ConfigMap}}}", "refer to a Secret"},
		{"the host as a header", "{basicAuth: {users: {name: users}, forwardUsernameHeader: Host}}", "cannot be edited"},
		{"the length as a header", "{basicAuth: {users: {name: users}, forwardUsernameHeader: Content-Length}}", "how a request is sent"},
		{"API keys", "{apiKeyAuth: {credentialRefs: [{name: keys}], extractFrom: [{headers: [X-Key]}]}}", ""},
		{"API keys of nowhere", "{apiKeyAuth: {credentialRefs: [{name: keys}]}}", "needs credentialRefs and extractFrom"},
		{"a Secret without the label", "{apiKeyAuth: {credentialRefs: [{name: unlabelled}], extractFrom: [{headers: [a]}]}}", "has no label"},
		{
			"one of two Secrets is missing", "{apiKeyAuth: {credentialRefs: [{name: keys}, {name: x}], extractFrom: [{headers: [a]}]}}",
			"no Secret app/x",
		},
		{
			"a key twice", "{apiKeyAuth: {credentialRefs: [{name: keys}, {name: same}], extractFrom: [{headers: [a]}]}}",
			"clients one and three have the same",
		},
		{"a token", provider(inline), ""},
		{"keys in a ConfigMap", provider("localJWKS: {type: ValueRef, valueRef: {kind: ConfigMap, name: jwks}}"), ""},
		{"no ConfigMap", provider("localJWKS: {type: ValueRef, valueRef: {kind: ConfigMap, name: x}}"), "no ConfigMap app/x"},
		{"a ConfigMap without keys", provider("localJWKS: {type: ValueRef, valueRef: {kind: ConfigMap, name: other}}"), "not a JSON Web Key Set"},
		{"a Secret instead", provider("localJWKS: {type: ValueRef, valueRef: {kind: Secret, name: users}}"), "refer to a ConfigMap"},
		{"no keys", provider("localJWKS: {inline: '{\"keys\": []}'}"), "no usable public key"},
		{"a shared secret", provider("localJWKS: {inline: '{\"keys\": [{\"kty\": \"oct\", \"k\": \"a\"}]}'}"), "every reader of it could sign"},
		{
			"a point off the curve", provider("localJWKS: {inline: '{\"keys\": [" + strings.Replace(publicKey, "x_FE", "x_FF", 1) + "]}'}"),
			"not those of a public key",
		},
		{
			"a private key", provider("localJWKS: {inline: '{\"keys\": [" + strings.Replace(publicKey, "{", `{"d":"a",`, 1) + "]}'}"),
			"it is a private key",
		},
		{
			"two providers of one name",
			strings.Replace(provider(inline), "{jwt: {providers: [", "{jwt: {providers: [{name: p, "+inline+"}, ", 1), "two of the name",
		},
		{"remote keys", provider("remoteJWKS: {uri: 'http://server/jwks', backendRef: {name: server, port: 80}}"), ""},
		{
			"remote keys of no Service", provider("remoteJWKS: {uri: 'http://server/jwks', backendRef: {name: x, port: 80}}"),
			"Service app/x does not exist",
		},
		{
			"remote keys of another namespace",
			provider("remoteJWKS: {uri: 'http://server/jwks', backendRef: {name: server, namespace: other, port: 80}}"), "no ReferenceGrant",
		},
		{"remote keys of no URI", provider("remoteJWKS: {uri: 'server', backendRef: {name: server, port: 80}}"), "not a URI"},
		{"authorization", "{authorization: {rules: [{action: Deny, operation: {path: {value: /a}}}]}}", ""},
		{
			"an expression that proxies refuse",
			"{authorization: {rules: [{action: Deny, operation: {path: {type: RegularExpression, value: '('}}}]}}", "missing closing",
		},
		{
			"regular expressions in many rules", "{authorization: {rules: [" + strings.Repeat(
				`{action: Allow, cel: "request.path.matches('a') || request.path.matches('b') || request.path.matches('c')"},`, 6) + "]}}",
			"authorization.rules[5].cel: the expressions of the policy use matches more than 16 times",
		},
		{"a range that is none", "{authorization: {rules: [{action: Deny, principal: {clientCIDRs: [x]}}]}}", "not a range"},
		{"locations", locations("country: DE", "asn: 64496, city: München", "anonymous: {isTor: false}"), ""},
		{"a location that is nowhere", locations(""), "[0] has no condition"},
		{"a country that is none", locations("country: DE", "country: D1"), `[1].country "D1"`},
		{"a number that is none", locations("asn: -1"), "asn -1"},
		{"a city without a name", locations("city: ''"), `city ""`},
		{"a provider of proxies without a database", locations("isp: '?'"), `isp "?"`},
		{"too many locations", locations(slices.Repeat([]string{"country: DE"}, maxLocations+1)...), "have 1025 clientIPGeoLocations"},
		{
			"a denied path with too many segments",
			"{authorization: {rules: [{action: Deny, operation: {path: {value: " + strings.Repeat("/a", 512) + "}}}]}}", "in all its spellings",
		},
		{
			"an allowed path with as many",
			"{authorization: {rules: [{action: Allow, operation: {path: {value: " + strings.Repeat("/a", 512) + "}}}]}}", "",
		},
		{"a path with a query", "{authorization: {rules: [{action: Deny, operation: {path: {value: '/a?b'}}}]}}", "leave out the query"},
		{"no condition", "{authorization: {rules: [{action: Allow}]}}", "no condition"},
		{"an empty condition", "{authorization: {rules: [{action: Allow, principal: {}, operation: {}}]}}", "no condition"},
		{
			"a header without values", "{authorization: {rules: [{action: Allow, principal: {headers: [{name: a, values: []}]}}]}}",
			"has no values",
		},
		{"a mode that is not known", "{basicAuth: {mode: Later}}", `mode "Later" is not known`},
		{
			"claims of no provider", "{authorization: {rules: [{action: Deny, principal: {jwt: {provider: p, scopes: [a]}}}]}}",
			"not in jwt of this policy",
		},
		{"external authorization", "{extAuth: {grpc: {backendRef: {name: server, port: 80}}}}", ""},
		{
			"external authorization of no Service", "{extAuth: {grpc: {backendRef: {name: x, port: 80}}, failOpen: true}}",
			"Service app/x does not exist",
		},
		{
			"external authorization of another namespace", "{extAuth: {http: {backendRef: {name: server, namespace: other, port: 80}}}}",
			"no ReferenceGrant",
		},
		{"external authorization of nothing", "{extAuth: {}}", "one of grpc and http"},
		{"a path that is none", "{extAuth: {http: {backendRef: {name: server, port: 80}, path: x}}}", "not a path"},
		{"OIDC", oidc("clientSecret: {name: client}"), ""},
		{"OIDC without a Secret", oidc("clientSecret: {name: x}"), "no Secret app/x"},
		{"OIDC with an empty Secret", oidc("clientSecret: {name: empty}"), "no text under the key client-secret"},
		{
			"OIDC with a header of an unknown type",
			oidc("clientSecret: {name: client}, denyRedirect: {headers: [{name: a, type: Glob, value: b}]}"), `type "Glob" is not known`,
		},
		{"OIDC with one path for two", oidc("clientSecret: {name: client}, logoutPath: /oauth2/callback"), "the same path"},
		{"OIDC with a redirect that is none", oidc("clientSecret: {name: client}, redirectURL: 'https://a.example/%REQ(x)%'"), "percent sign"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := resolved(t, c.settings)
			want := ir.Enforced
			var said string
			if p.Accepted != nil {
				said = p.Accepted.Message
			}
			if p.ResolvedRefs != nil {
				said += p.ResolvedRefs.Message
			}
			if c.problem != "" {
				want = ir.Broken
			}
			all := guards(&p)
			if len(all) == 0 || all[len(all)-1] != want {
				t.Errorf("the setting is %v, want %v; %s", all, want, said)
			}
			if c.problem == "" && said != "" || !strings.Contains(said, c.problem) {
				t.Errorf("the policy says %q, want %q", said, c.problem)
			}
			if values := request(&p.Spec); c.problem != "" && !values.FailsClosed() {
				t.Error("requests pass")
			}
		})
	}
}

// TestAPolicyThatCannotBeReadIsClosed: its targets are known, and its settings are not.
func TestAPolicyThatCannotBeReadIsClosed(t *testing.T) {
	t.Parallel()
	objects := resolvetest.Objects(t, "kind: SecurityPolicy\nmetadata: {namespace: app, name: p}\n"+
		"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]}")
	object, _ := objects.SecurityPolicies.Get(nil, "app/p")
	store.MarkUnreadable(object, "a number is too large")
	p := resolve(nil, objects, "app/p")
	if values := request(&p.Spec); !values.FailsClosed() || len(p.Targets) != 1 {
		t.Errorf("requests pass: %+v", p)
	}
	if p.Accepted == nil || !strings.Contains(p.Accepted.Message, "a number is too large") {
		t.Errorf("the policy says %v", p.Accepted)
	}
}

func TestModeNoneIsASettingThatAsksForNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cors", "csrf", "jwt", "oidc", "basicAuth", "apiKeyAuth", "extAuth"} {
		p := resolved(t, "{"+name+": {mode: None}}")
		if has := kind.Has(&p); len(has) != 1 || has[0] != name {
			t.Errorf("%s is not there: %v", name, has)
		}
		if all := guards(&p); len(all) != 1 || all[0] != ir.Off || p.Accepted != nil {
			t.Errorf("%s is %v, %v", name, all, p.Accepted)
		}
		values := request(&p.Spec)
		if values.FailsClosed() || len(values.Backends())+len(values.Secrets()) > 0 {
			t.Errorf("%s asks for something", name)
		}
	}
}

func TestSecretsAreInNoDump(t *testing.T) {
	t.Parallel()
	p := resolved(t, "{basicAuth: {users: {name: users}}, apiKeyAuth: {credentialRefs: [{name: keys}], extractFrom: [{headers: [a]}]}}")
	if string(p.Spec.BasicAuth.Users) != "ali:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=" || string(p.Spec.APIKeyAuth.Keys[0].Key) != "k1" {
		t.Errorf("the secrets are not there: %q", string(p.Spec.BasicAuth.Users))
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		text := fmt.Sprintf(format, *p.Spec.BasicAuth) + fmt.Sprintf(format, *p.Spec.APIKeyAuth)
		if strings.Contains(text, "W6ph") || strings.Contains(text, "k1") {
			t.Errorf("%s writes a secret: %s", format, text)
		}
	}
}

func TestProblemsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"ali:hunter2", "ali:{SHA}hunter2", "hunter2"} {
		if _, err := htpasswd([]byte(text)); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ali") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
