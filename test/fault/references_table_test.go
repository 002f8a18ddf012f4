//go:build fault

package fault

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// groupKind is one end of a reference.
type groupKind struct{ group, kind string }

func standard(kind string) groupKind { return groupKind{gwv1.GroupName, kind} }

func own(kind string) groupKind { return groupKind{v1alpha1.GroupName, kind} }

func core(kind string) groupKind { return groupKind{"", kind} }

// reference is a reference to an object of its own name in the other namespace.
type reference struct {
	name     string
	from, to groupKind
	// target makes the object that is referred to.
	target func(t *testing.T, r *references, name string)
	// objects have the reference, where the Gateway does not.
	objects string
	ask     asker
	// late is how long after its answer a request may arrive at the target.
	late time.Duration
	// never says that no grant allows it.
	never bool
}

const (
	// copyTime is how long the copy of a request, or a datagram, may take.
	copyTime = 100 * time.Millisecond
	// telemetryTime is longer than proxies collect log records and spans.
	telemetryTime = 2 * time.Second
)

func referenceTable() []reference {
	return slices.Concat(routeReferences(), streamReferences(), gatewayReferences(), backendReferences(), telemetryReferences(),
		policyReferences(), clientReferences(), selectorReferences())
}

func routeReferences() []reference {
	return []reference{
		{
			name: "route-service", from: standard("HTTPRoute"), to: core("Service"), target: server,
			objects: routeOf(`{backendRefs: [TARGET]}`), ask: get,
		},
		{
			name: "route-xbackend", from: standard("HTTPRoute"), to: groupKind{gwxv1alpha1.GroupName, "XBackend"}, target: object(`
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: NAME}
spec: {type: EndpointSelector, port: {number: 3000}, endpointSelector: {matchLabels: {app: echo}}}`),
			objects: routeOf(`{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: NAME, namespace: OTHER}]}`),
			ask:     answered(http.StatusOK), never: true,
		},
		{
			name: "route-backend", from: standard("HTTPRoute"), to: own("Backend"), target: object(`
apiVersion: gatewright.dev/v1alpha1
kind: Backend
metadata: {name: NAME}
spec: {endpoints: [{ip: {address: "POD", port: 3000}}]}`),
			objects: routeOf(`{backendRefs: [{group: gatewright.dev, kind: Backend, name: NAME, namespace: OTHER}]}`),
			ask:     answered(http.StatusOK),
		},
		{
			name: "route-mirror", from: standard("HTTPRoute"), to: core("Service"), target: server,
			objects: routeOf(`{filters: [{type: RequestMirror, requestMirror: {backendRef: TARGET}}], backendRefs: [{name: here, port: 80}]}`),
			ask:     get, late: copyTime,
		},
		{
			name: "route-auth", from: standard("HTTPRoute"), to: core("Service"), target: server,
			objects: routeOf(`{filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {}, backendRef: TARGET}}], ` +
				`backendRefs: [{name: here, port: 80}]}`),
			ask: get,
		},
		{
			name: "grpc-service", from: standard("GRPCRoute"), to: core("Service"), target: server,
			objects: asGRPC(routeOf(`{backendRefs: [TARGET]}`)), ask: call,
		},
		{
			name: "grpc-mirror", from: standard("GRPCRoute"), to: core("Service"), target: server,
			objects: asGRPC(routeOf(`{filters: [{type: RequestMirror, requestMirror: {backendRef: TARGET}}], ` +
				`backendRefs: [{name: here, port: 80}]}`)),
			ask: call, late: copyTime,
		},
	}
}

func streamReferences() []reference {
	return []reference{
		{
			name: "tcp-service", from: standard("TCPRoute"), to: core("Service"), target: connections,
			objects: streamOf("TCPRoute"), ask: connect("tcp", 9000),
		},
		{
			name: "tls-service", from: standard("TLSRoute"), to: core("Service"), target: connections,
			objects: strings.Replace(streamOf("TLSRoute"), "  rules:", "  hostnames: [HOST]\n  rules:", 1), ask: handshake(9443),
		},
		{
			name: "udp-service", from: standard("UDPRoute"), to: core("Service"), target: datagramCounter,
			objects: streamOf("UDPRoute"), ask: connect("udp", 5353), late: copyTime,
		},
	}
}

// gatewayReferences are those of a Gateway and a ListenerSet.
func gatewayReferences() []reference {
	return []reference{
		{name: "gateway-certificate", from: standard("Gateway"), to: core("Secret"), target: keyPair, ask: handshake(443)},
		{name: "set-certificate", from: standard("ListenerSet"), to: core("Secret"), target: keyPair, ask: handshake(443)},
		{
			name: "gateway-auth", from: standard("Gateway"), to: core("Service"), target: server,
			objects: strings.Replace(routeOf(plainRule), "sectionName: http", "sectionName: gateway-auth", 1), ask: get,
		},
		{
			name: "set-auth", from: standard("ListenerSet"), to: core("Service"), target: server,
			objects: strings.Replace(routeOf(plainRule), "{name: gateway, sectionName: http}",
				"{group: gateway.networking.k8s.io, kind: ListenerSet, name: set, sectionName: auth}", 1),
			ask: get,
		},
		{
			name: "gateway-client-certificate", from: standard("Gateway"), to: core("Secret"), target: keyPair,
			objects: routeOf(`{backendRefs: [{name: mutual, port: 80}]}`), ask: answered(http.StatusOK),
		},
		{name: "gateway-clients", from: standard("Gateway"), to: core("ConfigMap"), target: authorities, ask: admitted(8443)},
	}
}

// backendReferences are those to certificates that proxies show backends.
func backendReferences() []reference {
	return []reference{
		{
			name: "backend-certificate", from: own("Backend"), to: core("Secret"), target: keyPair,
			objects: routeOf(`{backendRefs: [{group: gatewright.dev, kind: Backend, name: NAME}]}`) + `
---
apiVersion: gatewright.dev/v1alpha1
kind: Backend
metadata: {name: NAME}
spec:
  endpoints: [{ip: {address: "ADDRESS", port: PORT}}]
  tls:
    sni: mutual.ref.example.com
    caCertificateRefs: [{group: "", kind: ConfigMap, name: mutual}]
    clientCertificateRef: {name: NAME, namespace: OTHER}`,
			ask: answered(http.StatusOK),
		},
		{
			name: "xbackend-certificate", from: groupKind{gwxv1alpha1.GroupName, "XBackend"}, to: core("Secret"), target: keyPair,
			objects: routeOf(`{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: NAME}]}`) + `
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: NAME}
spec:
  type: ExternalHostname
  port: {number: PORT}
  externalHostname: {hostname: server.outside.example} # leads to the node, in the DNS of the test cluster
  tls:
    mode: ClientAndServer
    clientCertificateRef: {name: NAME, namespace: OTHER}
    validation: {hostname: mutual.ref.example.com, caCertificateRefs: [{group: "", kind: ConfigMap, name: mutual}]}`,
			ask: answered(http.StatusOK),
		},
	}
}

// telemetryReferences are those to servers that are told about requests.
func telemetryReferences() []reference {
	return []reference{
		{
			name: "log-receiver", from: own("ProxyConfig"), to: core("Service"), target: collector,
			objects: `
apiVersion: gatewright.dev/v1alpha1
kind: ProxyConfig
metadata: {name: NAME}
spec: {accessLogs: [{type: OTLP, fields: {path: "%REQ(:PATH)%"}, otlp: {backendRef: TARGET}}]}`,
			ask: traced, late: telemetryTime,
		},
		{
			name: "span-receiver", from: groupKind{gwxv1alpha1.GroupName, "XTelemetryPolicy"}, to: core("Service"), target: collector,
			objects: `
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XTelemetryPolicy
metadata: {name: NAME}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gateway}]
  tracing: {mode: Enabled, provider: {backendRef: TARGET}}`,
			ask: traced, late: telemetryTime,
		},
	}
}

// policyReferences are those of our own policies and filters.
func policyReferences() []reference {
	const provider = `provider: {issuer: i, authorizationEndpoint: "https://i.example/a", tokenEndpoint: "http://i.example/t", backendRef: `
	secured := func(name string, to groupKind, target func(*testing.T, *references, string), settings string, ask asker) reference {
		return reference{name: name, from: own("SecurityPolicy"), to: to, target: target, objects: securedBy(settings), ask: ask}
	}
	return []reference{
		secured("security-users", core("Secret"), object(`
apiVersion: v1
kind: Secret
metadata: {name: NAME}
stringData: {.htpasswd: "ali:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="}`), // "password"
			`basicAuth: {users: {name: NAME, namespace: OTHER}, forwardUsernameHeader: X-Used}`,
			saw("ali", "Authorization", "Basic YWxpOnBhc3N3b3Jk")),
		secured("security-keys", core("Secret"), object(`
apiVersion: v1
kind: Secret
metadata: {name: NAME, labels: {gatewright.dev/policy-data: ""}}
stringData: {one: k1}`),
			`apiKeyAuth: {credentialRefs: [{name: NAME, namespace: OTHER}], extractFrom: [{headers: [X-Key]}], forwardClientIDHeader: X-Used}`,
			saw("one", "X-Key", "k1")),
		secured("security-auth", core("Service"), server, `extAuth: {http: {backendRef: TARGET}}`, get),
		secured("security-grpc-auth", core("Service"), server, `extAuth: {grpc: {backendRef: TARGET}}`, get),
		secured("security-jwks", core("Service"), keyServer,
			`jwt: {providers: [{name: p, remoteJWKS: {uri: "http://keys.example/jwks", backendRef: TARGET}, `+
				`claimToHeaders: [{claim: sub, header: X-Used}]}]}`, saw("ali", "Authorization", "")),
		secured("security-client-secret", core("Secret"), clientSecret,
			`oidc: {clientID: a, clientSecret: {name: NAME, namespace: OTHER}, `+provider+`{name: here, port: 80}}}`, answered(http.StatusFound)),
		secured("security-provider", core("Service"), server,
			`oidc: {clientID: a, clientSecret: {name: client}, `+provider+`TARGET}}`, answered(http.StatusFound)),
		{
			name: "extension-server", from: own("Extension"), to: core("Service"), target: server, ask: get,
			objects: filteredBy("Extension", `{extProc: [{backendRefs: [TARGET], processingMode: {request: {}}}]}`),
		},
		{
			name: "filter-credential", from: own("HTTPRouteFilter"), to: core("Secret"), ask: saw("injected"), target: object(`
apiVersion: v1
kind: Secret
metadata: {name: NAME}
stringData: {credential: injected}`),
			objects: filteredBy("HTTPRouteFilter",
				`{credentialInjection: {header: X-Used, credential: {valueRef: {name: NAME, namespace: OTHER}}}}`),
		},
	}
}

// clientReferences are those of a ClientTrafficPolicy.
func clientReferences() []reference {
	policy := func(validation string) string {
		return `
apiVersion: gatewright.dev/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: NAME}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gateway, sectionName: NAME}]
  tls: {clientValidation: ` + validation + `}`
	}
	return []reference{
		{
			name: "clients-authority", from: own("ClientTrafficPolicy"), to: core("ConfigMap"), target: authorities, ask: admitted(8444),
			objects: policy(`{caCertificateRefs: [{kind: ConfigMap, name: NAME, namespace: OTHER}]}`),
		},
		{
			name: "clients-revocations", from: own("ClientTrafficPolicy"), to: core("ConfigMap"), ask: admitted(8445),
			target: func(t *testing.T, r *references, name string) {
				t.Helper()
				r.other.Make(t, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{v1alpha1.CRLKey: r.authority.revocations(t)},
				})
			},
			objects: policy(`{caCertificateRefs: [{kind: ConfigMap, name: clients}], ` +
				`crl: {refs: [{kind: ConfigMap, name: NAME, namespace: OTHER}]}}`),
		},
	}
}

// selectorReferences are policies that select objects of other namespaces by labels.
func selectorReferences() []reference {
	policy := func(kind, target, settings string) string {
		return `
apiVersion: gatewright.dev/v1alpha1
kind: ` + kind + `
metadata: {name: NAME}
spec: {targetSelectors: [{kind: ` + target + `, matchLabels: {case: OWN-NAME}, namespaces: {from: All}}], ` + settings + `}`
	}
	route := object(strings.NewReplacer("{name: NAME}", "{name: NAME, labels: {case: OWN-NAME}}", "{name: gateway,",
		"{name: gateway, namespace: OWN,", "name: here", "name: echo").Replace(routeOf(plainRule)))
	return []reference{
		{
			name: "security-selector", from: own("SecurityPolicy"), to: standard("HTTPRoute"), target: route,
			objects: policy("SecurityPolicy", "HTTPRoute", `authorization: {defaultAction: Deny}`), ask: answered(http.StatusForbidden),
		},
		{
			name: "traffic-selector", from: own("BackendTrafficPolicy"), to: standard("HTTPRoute"), target: route,
			objects: policy("BackendTrafficPolicy", "HTTPRoute", `faultInjection: {abort: {httpStatus: 418}}`), ask: answered(http.StatusTeapot),
		},
		{
			name: "client-selector", from: own("ClientTrafficPolicy"), to: standard("Gateway"), ask: healthy, target: object(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: NAME, labels: {case: OWN-NAME}}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}`),
			objects: policy("ClientTrafficPolicy", "Gateway", `healthCheck: {path: /healthz}`),
		},
	}
}

// object is a target that is made of text.
func object(text string) func(*testing.T, *references, string) {
	return func(t *testing.T, r *references, name string) {
		t.Helper()
		r.make(t, r.other, name, text)
	}
}

var clientSecret = object(`
apiVersion: v1
kind: Secret
metadata: {name: NAME}
stringData: {client-secret: hidden}`)

func keyPair(t *testing.T, r *references, name string) {
	t.Helper()
	r.other.Make(t, live.TLSSecret(t, name, referenceHost(name)))
}

func authorities(t *testing.T, r *references, name string) {
	t.Helper()
	r.other.Make(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"ca.crt": r.authority.pem}})
}

const plainRule = `{backendRefs: [{name: here, port: 80}]}`

// routeOf is a route with one rule.
func routeOf(rule string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME}
spec:
  parentRefs: [{name: gateway, sectionName: http}]
  hostnames: [HOST]
  rules: [` + rule + `]`
}

func asGRPC(route string) string { return strings.Replace(route, "HTTPRoute", "GRPCRoute", 1) }

// streamOf is a route of whole connections, on the listener of its name.
func streamOf(kind string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: ` + kind + `
metadata: {name: NAME}
spec:
  parentRefs: [{name: gateway, sectionName: NAME}]
  rules: [{backendRefs: [TARGET]}]`
}

// securedBy is a SecurityPolicy and then the route that it is for, so that the route is never without it.
func securedBy(settings string) string {
	return `
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: NAME}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: NAME}], ` + settings + `}
---` + routeOf(plainRule)
}

// filteredBy is what a filter refers to, and a route with that filter.
func filteredBy(kind, spec string) string {
	return `
apiVersion: gatewright.dev/v1alpha1
kind: ` + kind + `
metadata: {name: NAME}
spec: ` + spec + `
---` + routeOf(`{filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: `+kind+`, name: NAME}}], `+
		`backendRefs: [{name: here, port: 80}]}`)
}

// referencesGateway has a listener for each reference that needs one of its own, and what all of them need.
const referencesGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gateway}
spec:
  gatewayClassName: gatewright
  infrastructure: {parametersRef: {group: gatewright.dev, kind: ProxyConfig, name: log-receiver}}
  allowedListeners: {namespaces: {from: Same}}
  tls:
    backend: {clientCertificateRef: {name: gateway-client-certificate, namespace: OTHER}}
    frontend:
      default: {}
      perPort:
        - port: 8443
          tls: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: gateway-clients, namespace: OTHER}]}}
  listeners:
    - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
    - name: gateway-auth
      port: 80
      protocol: HTTP
      hostname: gateway-auth.ref.example.com
      filters:
        requests:
          - {type: ExternalAuth, externalAuth: {protocol: HTTP, http: {}, backendRef: {name: gateway-auth, namespace: OTHER, port: 80}}}
    - name: gateway-certificate
      port: 443
      protocol: HTTPS
      hostname: gateway-certificate.ref.example.com
      tls: {certificateRefs: [{name: gateway-certificate, namespace: OTHER}]}
    - {name: gateway-clients, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: server}]}}
    - {name: clients-authority, port: 8444, protocol: HTTPS, tls: {certificateRefs: [{name: server}]}}
    - {name: clients-revocations, port: 8445, protocol: HTTPS, tls: {certificateRefs: [{name: server}]}}
    - {name: tcp-service, port: 9000, protocol: TCP}
    - {name: tls-service, port: 9443, protocol: TLS, tls: {mode: Passthrough}}
    - {name: udp-service, port: 5353, protocol: UDP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: set}
spec:
  parentRef: {name: gateway}
  listeners:
    - name: certificate
      port: 443
      protocol: HTTPS
      hostname: set-certificate.ref.example.com
      tls: {certificateRefs: [{name: set-certificate, namespace: OTHER}]}
    - name: auth
      port: 80
      protocol: HTTP
      hostname: set-auth.ref.example.com
      filters:
        requests:
          - {type: ExternalAuth, externalAuth: {protocol: HTTP, http: {}, backendRef: {name: set-auth, namespace: OTHER, port: 80}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: secure}
spec:
  parentRefs:
    - {name: gateway, sectionName: gateway-clients}
    - {name: gateway, sectionName: clients-authority}
    - {name: gateway, sectionName: clients-revocations}
  rules: [{backendRefs: [{name: here, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: plain}
spec:
  parentRefs: [{name: gateway, sectionName: http}]
  hostnames: [plain.ref.example.com]
  rules: [{backendRefs: [{name: here, port: 80}]}]
---
apiVersion: v1
kind: Secret
metadata: {name: client}
stringData: {client-secret: hidden}`
