//go:build fuzz

package fuzz

import (
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// servedObjects generates objects of which most are served: many rules for few hosts, which overlap, and policies that decide about
// requests without a server.
type servedObjects struct {
	*rand.Rand
	text strings.Builder
}

func newServedObjects(seed, number uint64) []store.Change {
	g := &servedObjects{Rand: rand.New(rand.NewPCG(seed, number))} //nolint:gosec // the same every time
	g.gateway()
	for i := range 4 + g.IntN(12) {
		g.route(i)
	}
	if g.one(3) {
		g.grpcRoute()
	}
	for i := range g.IntN(4) {
		g.policy(i)
	}
	changes, err := resolvetest.Parse(g.text.String())
	if err != nil {
		panic(err)
	}
	pair := fuzzobjects.KeyPairs()[0]
	cert := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: pair[0], corev1.TLSPrivateKeyKey: pair[1]}}
	users := &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: map[string][]byte{
		v1alpha1.HtpasswdKey: []byte("user:{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ="), "client": []byte("key1"),
	}}
	users.Labels = map[string]string{v1alpha1.PolicyDataLabel: ""}
	return append(changes, store.Change{Kind: store.Secret, Key: "infra/cert", Object: cert},
		store.Change{Kind: store.Secret, Key: "infra/users", Object: users})
}

func (g *servedObjects) choose(of ...string) string { return of[g.IntN(len(of))] }

// one is true that many times of ten.
func (g *servedObjects) one(ofTen int) bool { return g.IntN(10) < ofTen }

func (g *servedObjects) write(format string, args ...any) {
	fmt.Fprintf(&g.text, format+"\n---\n", args...)
}

func (g *servedObjects) gateway() {
	g.write(`kind: GatewayClass
metadata: {name: ours}
spec: {controllerName: gatewright.dev/gateway-controller}`)
	listeners := []string{"{name: http, port: 80, protocol: HTTP}"}
	add := func(name string, port int, protocol, hostname, more string) {
		l := fmt.Sprintf("{name: %s, port: %d, protocol: %s%s", name, port, protocol, more)
		if hostname != "" {
			l += fmt.Sprintf(", hostname: %q", hostname)
		}
		listeners = append(listeners, l+"}")
	}
	if g.one(5) {
		add("exact", 80, "HTTP", "a.example.com", "")
	}
	if g.one(5) {
		add("wild", 80, "HTTP", "*.example.com", "")
	}
	tls := ", tls: {certificateRefs: [{name: cert}]}"
	for i, hostname := range []string{"", "a.example.com", "*.example.com", "*.b.example.com"} {
		if g.one(5) {
			add(fmt.Sprintf("https%d", i), 443, "HTTPS", hostname, tls)
		}
	}
	g.write(`kind: Gateway
metadata: {namespace: infra, name: one}
spec: {gatewayClassName: ours, listeners: [%s]}`, strings.Join(listeners, ", "))
	for i := range 4 {
		g.write(`kind: Service
metadata: {namespace: infra, name: s%d}
spec: {ports: [{name: http, port: 80}]}`, i)
		if i > 0 {
			g.write(`kind: EndpointSlice
metadata: {namespace: infra, name: s%[1]d, labels: {kubernetes.io/service-name: s%[1]d}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [198.51.100.%[1]d], conditions: {ready: true}}]`, i)
		}
	}
	g.write(`kind: HTTPRouteFilter
metadata: {namespace: infra, name: answer}
spec: {directResponse: {statusCode: %s}}`, g.choose("200", "503", "418"))
}

func (g *servedObjects) hostnames() string {
	var names []string
	for range g.IntN(3) {
		name := g.choose("a.example.com", "b.example.com", "*.example.com", "x.b.example.com", "*.b.example.com", "other.org", "*.org")
		names = append(names, fmt.Sprintf("%q", name))
	}
	return strings.Join(names, ", ")
}

func (g *servedObjects) path() string {
	var b strings.Builder
	for range g.IntN(4) {
		b.WriteString("/" + g.choose("a", "b", "c", "ab", "a.b", "a-b", "A", "%20", "~"))
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String() + g.choose("", "", "", "/")
}

func (g *servedObjects) match() string {
	kind, path := g.choose("PathPrefix", "PathPrefix", "Exact"), g.path()
	if g.one(2) {
		kind, path = "RegularExpression", g.path()+g.choose("", ".*", "/[a-z]+", "x?", "(/b|/c)", "[^/]*")
	}
	m := fmt.Sprintf("path: {type: %s, value: %q}", kind, path)
	if g.one(2) {
		m += ", method: " + g.choose("GET", "POST", "OPTIONS", "DELETE")
	}
	if g.one(2) {
		m += fmt.Sprintf(", headers: [{name: %s, value: %q}]", g.choose("X-A", "x-b", "origin", "user-agent"), g.choose("1", "2", "a b", "a,b"))
	} else if g.one(1) {
		m += fmt.Sprintf(", headers: [{type: RegularExpression, name: %s, value: %q}]", g.choose("X-A", "cookie"), g.choose("1|2", ".*", "a+"))
	}
	if g.one(2) {
		m += fmt.Sprintf(", queryParams: [{name: %s, value: %q}]", g.choose("q", "X-A"), g.choose("1", "2", "%20"))
	}
	return "{" + m + "}"
}

func (g *servedObjects) route(i int) {
	var rules []string
	for range 1 + g.IntN(4) {
		var matches []string
		for range 1 + g.IntN(3) {
			matches = append(matches, g.match())
		}
		rule := fmt.Sprintf("matches: [%s]", strings.Join(matches, ", "))
		rule += g.action()
		rules = append(rules, "{"+rule+"}")
	}
	parent := "name: one"
	if g.one(3) {
		parent += ", sectionName: " + g.choose("http", "exact", "wild", "https0", "https2")
	}
	g.write(`kind: HTTPRoute
metadata: {namespace: infra, name: r%d, creationTimestamp: "2026-01-0%dT00:00:00Z"}
spec:
  parentRefs: [{%s}]
  hostnames: [%s]
  rules: [%s]`, i, 1+g.IntN(3), parent, g.hostnames(), strings.Join(rules, ", "))
}

// action is what a rule does.
func (g *servedObjects) action() string {
	switch g.IntN(12) {
	case 0:
		return fmt.Sprintf(`, filters: [{type: RequestRedirect, requestRedirect: {%s}}]`, g.choose(
			"scheme: https", "hostname: to.example.com", "port: 8443", "statusCode: 301", "path: {type: ReplacePrefixMatch, replacePrefixMatch: /x}",
			"path: {type: ReplaceFullPath, replaceFullPath: /full}", "path: {type: ReplacePrefixMatch, replacePrefixMatch: /}",
			"scheme: https, port: 443",
		))
	case 1:
		return `, filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: answer}}]`
	case 2:
		return `, backendRefs: [{name: missing, port: 80}]`
	case 3:
		return ""
	case 4:
		return fmt.Sprintf(`, filters: [{type: CORS, cors: {allowOrigins: [%q], allowMethods: [GET, POST]}}], backendRefs: [{name: s1, port: 80}]`,
			g.choose("https://a.example.com", "*", "https://*.org"))
	case 5:
		return `, backendRefs: [{name: s1, port: 80, weight: 3}, {name: s2, port: 80}, {name: s3, port: 80, weight: 0}]`
	case 6:
		return `, backendRefs: [{name: s0, port: 80}]`
	case 7:
		return `, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}], backendRefs: [{name: s2, port: 80}]`
	default:
		return fmt.Sprintf(`, backendRefs: [{name: s%d, port: 80}]`, 1+g.IntN(3))
	}
}

func (g *servedObjects) grpcRoute() {
	g.write(`kind: GRPCRoute
metadata: {namespace: infra, name: g}
spec:
  parentRefs: [{name: one}]
  hostnames: [%q]
  rules: [{matches: [{method: {service: %s}}], backendRefs: [{name: %s, port: 80}]}, {matches: [{method: {service: a, method: b}}], backendRefs: []}]`,
		g.choose("grpc.example.com", "*.grpc.org"), g.choose("a", "pkg.S"), g.choose("s0", "s1", "missing"))
}

// policy decides about requests, for the Gateway or a route.
func (g *servedObjects) policy(i int) {
	target := "{group: gateway.networking.k8s.io, kind: Gateway, name: one}"
	if g.one(6) {
		target = fmt.Sprintf("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r%d}", g.IntN(4))
	}
	kind, settings := "SecurityPolicy", g.choose(
		`authorization: {defaultAction: Deny, rules: [{action: Allow, operation: {methods: [GET, OPTIONS]}}]}`,
		`authorization: {defaultAction: Allow, rules: [{action: Deny, operation: {path: {type: PathPrefix, value: /a}}}]}`,
		`authorization: {defaultAction: Allow, rules: [{action: Deny, operation: {path: {type: Exact, value: /a/b}}, principal: {headers: [{name: x-a, values: ["1"]}]}}]}`,
		`authorization: {defaultAction: Deny, rules: [{action: Allow, principal: {clientCIDRs: [127.0.0.0/8]}, operation: {path: {type: RegularExpression, value: "/[ab].*"}}}]}`,
		`authorization: {defaultAction: Deny, rules: [{action: Allow, principal: {clientCIDRs: [192.0.2.0/24]}}]}`,
		`basicAuth: {users: {name: users}}`,
		`apiKeyAuth: {credentialRefs: [{name: users}], extractFrom: [{headers: [x-key]}, {params: [key]}]}`,
		`csrf: {additionalOrigins: ["https://*.org"]}`,
		`cors: {allowOrigins: ["https://a.example.com"], allowMethods: [GET]}`,
		`cors: {mode: None}`,
		`basicAuth: {users: {name: missing}}`,
	)
	switch g.IntN(4) {
	case 0:
		kind, settings = "BackendTrafficPolicy", g.choose(
			`faultInjection: {abort: {httpStatus: 418, percentage: 100}}`,
			`rateLimit: {local: {rules: [{limit: {requests: 1000000, unit: Second}}]}}`,
			`responseOverride: [{match: {statusCodes: [{type: Value, value: 404}]}, response: {statusCode: 410}}]`,
			`responseOverride: [{match: {statusCodes: [{type: Range, range: {start: 500, end: 599}}]}, response: {statusCode: 599}}]`,
		)
	case 1:
		kind, settings = "ClientTrafficPolicy", g.choose(
			`path: {escapedSlashesAction: KeepUnchanged}`, `path: {escapedSlashesAction: RejectRequest}`,
			`path: {escapedSlashesAction: UnescapeAndForward, disableMergeSlashes: true}`, `headers: {withUnderscoresAction: RejectRequest}`,
			`headers: {withUnderscoresAction: DropHeader, requestID: Disable}`, `clientIPDetection: {xForwardedFor: {numTrustedHops: 1}}`,
			`clientIPDetection: {customHeader: {name: x-client, failClosed: true}}`, `healthCheck: {path: /a}`,
			`clientIPDetection: {xForwardedFor: {trustedCIDRs: [127.0.0.0/8]}}`,
		)
		target = "{group: gateway.networking.k8s.io, kind: Gateway, name: one}"
	}
	g.write(`kind: %s
metadata: {namespace: infra, name: p%d}
spec: {targetRefs: [%s], %s}`, kind, i, target, settings)
}
