package admission_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/test/admission"
)

// TestSecurityPolicy has what the API server refuses of a SecurityPolicy, by the definition in the chart.
func TestSecurityPolicy(t *testing.T) {
	t.Parallel()
	rules, err := admission.Read("../../charts/gatewright/files/crds")
	if err != nil {
		t.Fatal(err)
	}
	const keys = `localJWKS: {inline: '{"keys": []}'}`
	tests := []struct{ name, spec, refused string }{
		{"nothing", "", ""},
		{"CORS", "cors: {allowOrigins: ['https://*.example.com', '*'], allowMethods: [GET], maxAge: 86400s, allowCredentials: true}", ""},
		{"an origin that is none", "cors: {allowOrigins: [example.com]}", "allowOrigins"},
		{"CORS that is turned off", "cors: {mode: None}", ""},
		{"CORS that is turned off and on", "cors: {mode: None, allowMethods: [GET]}", "stands alone"},
		{"basic auth", "basicAuth: {users: {name: a}, forwardUsernameHeader: x-user}", ""},
		{"basic auth without users", "basicAuth: {}", "set users"},
		{"basic auth that is turned off", "basicAuth: {mode: None}", ""},
		{"a mode that there is not", "basicAuth: {mode: Off}", "mode"},
		{"API keys", "apiKeyAuth: {credentialRefs: [{name: a}], extractFrom: [{headers: [x]}, {params: [y]}, {cookies: [z]}]}", ""},
		{"API keys from nowhere", "apiKeyAuth: {credentialRefs: [{name: a}]}", "extractFrom"},
		{"two places in one", "apiKeyAuth: {credentialRefs: [{name: a}], extractFrom: [{headers: [x], params: [y]}]}", "exactly one"},
		{"a JWT", "jwt: {providers: [{name: a, " + keys + "}]}", ""},
		{"a JWT without providers", "jwt: {optional: true}", "set providers"},
		{"a JWT without keys", "jwt: {providers: [{name: a}]}", "one of remoteJWKS and localJWKS"},
		{"a JWT that is turned off", "jwt: {mode: None}", ""},
		{"two ways to be lenient", "jwt: {optional: true, failOpen: true, providers: [{name: a, " + keys + "}]}", "one of optional and failOpen"},
		{"claims without headers", "jwt: {providers: [{name: a, recomputeRoute: true, " + keys + "}]}", "claimToHeaders"},
		{"remote keys", "jwt: {providers: [{name: a, remoteJWKS: {uri: 'https://a.example/jwks', backendRefs: [{name: a, port: 80}]}}]}", ""},
		{"remote keys of nowhere", "jwt: {providers: [{name: a, remoteJWKS: {uri: 'ftp://a'}}]}", "uri"},
		{"two backends", "jwt: {providers: [{name: a, remoteJWKS: {uri: 'https://a', backendRefs: [{name: a}, {name: b}]}}]}", "backendRefs"},
		{
			"keys in a ConfigMap",
			"jwt: {providers: [{name: a, localJWKS: {type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: a}}}]}", "",
		},
		{"keys of the wrong type", "jwt: {providers: [{name: a, localJWKS: {type: ValueRef, inline: '{}'}}]}", "valueRef"},
		{"authorization", "authorization: {rules: [{action: Allow, principal: {clientCIDRs: [10.0.0.0/8]}}], defaultAction: Deny}", ""},
		{"a rule without a condition", "authorization: {rules: [{action: Allow}]}", "at least one of"},
		{"an action that there is not", "authorization: {rules: [{action: Log, operation: {methods: [GET]}}]}", "action"},
		{"a range that is none", "authorization: {rules: [{action: Allow, principal: {clientCIDRs: [10.0.0.1]}}]}", "range of IP addresses"},
		{
			"locations", "authorization: {rules: [{action: Allow, principal: {clientIPGeoLocations: [{country: de, region: BY, city: Munich, " +
				"asn: 4294967295, isp: Example, anonymous: {isVPN: false}}]}}]}", "",
		},
		{
			"a location that is nowhere", "authorization: {rules: [{action: Allow, principal: {clientIPGeoLocations: [{}]}}]}",
			"at least one of country",
		},
		{
			"a country that is none", "authorization: {rules: [{action: Allow, principal: {clientIPGeoLocations: [{country: Germany}]}}]}",
			"country",
		},
		{
			"a network without a word", "authorization: {rules: [{action: Allow, principal: {clientIPGeoLocations: [{anonymous: {}}]}}]}",
			"at least one of isAnonymous",
		},
		{"a path", "authorization: {rules: [{action: Deny, operation: {path: {value: /admin}}}]}", ""},
		{"a path that is none", "authorization: {rules: [{action: Deny, operation: {path: {value: admin}}}]}", "begin with a slash"},
		{"an expression", "authorization: {rules: [{action: Deny, operation: {path: {type: RegularExpression, value: '.*'}}}]}", ""},
		{
			"claims without tokens", "authorization: {rules: [{action: Allow, principal: {jwt: {provider: a, scopes: [b]}}}]}",
			"need jwt in the same policy",
		},
		{
			"claims", "{jwt: {providers: [{name: a, " + keys + "}]}, " +
				"authorization: {rules: [{action: Allow, principal: {jwt: {provider: a, claims: [{name: b, values: [c]}]}}}]}}", "",
		},
		{"no claims", "{jwt: {mode: None}, authorization: {rules: [{action: Allow, principal: {jwt: {provider: a}}}]}}", "claims or scopes"},
		{"external authorization", "extAuth: {grpc: {backendRef: {name: a, port: 80}}, timeout: 1s, statusOnError: 500}", ""},
		{"external authorization by nothing", "extAuth: {timeout: 1s}", "one of grpc and http"},
		{"external authorization without a server", "extAuth: {http: {path: /a}}", "backendRef"},
		{"two paths", "extAuth: {http: {backendRef: {name: a, port: 80}, path: /a, pathOverride: /b}}", "one of path"},
		{"a success for errors", "extAuth: {grpc: {backendRef: {name: a, port: 80}}, statusOnError: 200}", "statusOnError"},
		{"CSRF", "csrf: {additionalOrigins: ['https://a.example'], shadowFraction: {numerator: 1}}", ""},
		{
			"OIDC", "oidc: {provider: {issuer: 'https://a', authorizationEndpoint: 'https://a/a', tokenEndpoint: 'https://a/t', " +
				"backendRef: {name: a, port: 80}}, clientID: a, clientSecret: {name: b}}", "",
		},
		{
			"OIDC without endpoints", "oidc: {provider: {issuer: 'https://a'}, clientID: a, clientSecret: {name: b}}",
			"authorizationEndpoint",
		},
		{
			"OIDC without a client", "oidc: {provider: {issuer: 'https://a', authorizationEndpoint: 'https://a/a', tokenEndpoint: 'https://a/t'}}",
			"clientSecret",
		},
		{"one of several", "authentication: {require: Any}", ""},
		{"none of several", "authentication: {require: None}", "require"},
	}
	const head = "kind: SecurityPolicy\nmetadata: {namespace: a, name: b}\nspec:\n"
	const targets = "  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: c}]\n"
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			spec := strings.TrimSpace(test.spec)
			if strings.HasPrefix(spec, "{") {
				spec = strings.Replace(strings.TrimSuffix(strings.TrimPrefix(spec, "{"), "}"), "}]}, authorization", "}]}\n  authorization", 1)
				spec = strings.Replace(spec, "None}, authorization", "None}\n  authorization", 1)
			}
			change := resolvetest.Load(t, head+targets+"  "+spec)[0]
			_, err := rules.Admit(change)
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("the answer is %v, want it to say %q", err, test.refused)
			}
		})
	}
	t.Run("a policy without a target", func(t *testing.T) {
		t.Parallel()
		if _, err := rules.Admit(resolvetest.Load(t, head+"  cors: {}")[0]); err == nil || !strings.Contains(err.Error(), "targetRefs") {
			t.Errorf("the answer is %v", err)
		}
	})
}
