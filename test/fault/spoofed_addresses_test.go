//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// addressPorts are listeners that find the address of a client in different ways. Those in front of which a proxy is trusted get requests
// that such a proxy has added the address of the client to, which differs from port to port.
var addressPorts = []struct {
	listener string
	port     gwv1.PortNumber
	// detection is a setting, in which PEER is the address of the test.
	detection string
	// client is what the proxy in front adds.
	client string
}{
	{listener: "http", port: 80},
	{"hops", 8080, `{xForwardedFor: {numTrustedHops: 1}}`, "203.0.113.80"},
	{"trusted", 8081, `{xForwardedFor: {trustedCIDRs: [PEER/32]}}`, "203.0.113.81"},
	{"untrusted", 8082, `{xForwardedFor: {trustedCIDRs: [192.0.2.0/24]}}`, ""},
}

// clientLimit is how many requests of a client pass.
const clientLimit = 3

// detectAddresses makes the policies that find addresses, and waits until all ports are as they say.
func (w *spoofFixture) detectAddresses(t *testing.T) {
	t.Helper()
	for _, port := range addressPorts {
		if port.detection == "" {
			continue
		}
		policy := &v1alpha1.ClientTrafficPolicy{ObjectMeta: metav1.ObjectMeta{Name: port.listener}}
		readSettings(t, "clientIPDetection: "+strings.ReplaceAll(port.detection, "PEER", w.peer), &policy.Spec)
		policy.Spec.TargetRefs = targetOf("Gateway", gatewayName, port.listener)
		w.Make(t, policy)
	}
	for _, port := range addressPorts {
		// An honest proxy in front of the Gateway is believed, and no other.
		honest := spoofing{host: spoofHost("address"), forged: []string{"X-Forwarded-For: " + wantedAddress}}
		want := http.StatusForbidden
		if port.client != "" {
			want = http.StatusOK
		}
		live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
			status, _, err := honest.send(ctx, w.at(port.port))
			if err == nil && status != want {
				err = fmt.Errorf("port %d answers %d, want %d", port.port, status, want)
			}
			return err
		})
	}
}

// borrowedAddresses asks for what only one address may have, and counts the requests that get it, or that show backends the address.
func (w *spoofFixture) borrowedAddresses(t *testing.T) (attempts, accepted int) {
	t.Helper()
	for _, port := range addressPorts {
		for _, header := range []string{
			"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Cluster-Client-Ip",
			"X-Envoy-External-Address", "X-Forwarded", "Forwarded-For", "X-Original-Forwarded-For", "Via",
		} {
			for _, value := range []string{
				wantedAddress, wantedAddress + ",", "," + wantedAddress, wantedAddress + ":80", "unknown, " + wantedAddress,
				wantedAddress + ", " + w.peer, wantedAddress + ", 127.0.0.1", wantedAddress + "\nX-Forwarded-For: " + wantedAddress,
				"::ffff:" + wantedAddress, "for=" + wantedAddress,
			} {
				s := spoofing{host: spoofHost("address"), forged: strings.Split(header+": "+value, "\n")}
				if port.client != "" {
					s.forged = append(s.forged, "X-Forwarded-For: "+port.client)
				}
				attempts++
				status, _, err := s.send(t.Context(), w.at(port.port))
				if err == nil && status != http.StatusForbidden && status != http.StatusBadRequest {
					t.Errorf("port %d answers %d to %q", port.port, status, s.forged)
					accepted++
				}
			}
		}
		attempts++
		certificate := spoofing{host: steadyHost, forged: []string{"X-Forwarded-Client-Cert: Hash=" + lie}}
		if _, body, err := certificate.send(t.Context(), w.at(port.port)); err != nil || strings.Contains(body, lie) {
			t.Errorf("port %d lets a certificate of the client's pass: %s, %v", port.port, body, err)
			accepted++
		}
	}
	return attempts, accepted
}

// evaded counts the requests that pass beyond what a client may send, where it is known by its address, or by the header of its token.
func (w *spoofFixture) evaded(t *testing.T) int {
	t.Helper()
	requests := amount(200, 20)
	beyond := 0
	for _, port := range addressPorts {
		passed := 0
		for i := range requests {
			s := spoofing{host: spoofHost("limited"), forged: []string{fmt.Sprintf("X-Forwarded-For: 198.51.100.%d", i)}}
			if port.client != "" {
				s.forged = append(s.forged, "X-Forwarded-For: "+port.client)
			}
			passed += w.passes(t, s, port.port)
		}
		beyond += w.beyond(t, fmt.Sprintf("by address at port %d", port.port), passed)
	}
	passed := 0
	token := "Authorization: " + w.signers[0].Bearer(map[string]any{"iss": "a", "sub": "ali"})
	for i := range requests {
		passed += w.passes(t, spoofing{
			host: spoofHost("limited-tokens"), credentials: []string{token}, forged: []string{fmt.Sprintf("X-User: %d", i)},
		}, 80)
	}
	return beyond + w.beyond(t, "by token", passed)
}

// passes sends a request by HTTP/1.1, and counts it if the backend answers.
func (w *spoofFixture) passes(t *testing.T, s spoofing, port gwv1.PortNumber) int {
	t.Helper()
	lines := append(append([]string{"GET / HTTP/1.1", "Host: " + s.host}, s.credentials...), s.forged...)
	answer, err := live.RawHTTP1(t.Context(), w.at(port), nil, strings.Join(lines, "\n"))
	if err == nil && answer.Status == http.StatusOK {
		return 1
	}
	return 0
}

// beyond is how many more have passed than may. Fewer mean that the test does not see what it should.
func (w *spoofFixture) beyond(t *testing.T, what string, passed int) int {
	t.Helper()
	t.Logf("%s: %d passed", what, passed)
	if passed < clientLimit {
		t.Errorf("%s: %d passed, want %d", what, passed, clientLimit)
	}
	return max(passed-clientLimit, 0)
}

// spoofSecrets are what policies refer to.
const spoofSecrets = `
apiVersion: v1
kind: Secret
metadata: {name: users}
stringData: {.htpasswd: "ali:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="} # "password"
---
apiVersion: v1
kind: Secret
metadata: {name: keys, labels: {gatewright.dev/policy-data: ""}}
stringData: {one: k1, two: k2}
---
apiVersion: v1
kind: Secret
metadata: {name: client}
stringData: {client-secret: hidden}
---
apiVersion: v1
kind: Secret
metadata: {name: credential}
stringData: {credential: injected}
---
apiVersion: v1
kind: Service
metadata: {name: down}
spec: {ports: [{port: 80}], selector: {app: none}}`

// spoofRoutes are routes that do more than send requests to the backend, and policies that count.
const spoofRoutes = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: filter-asks}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [filter-asks.spoof.example.com]
  rules:
    - filters:
        - type: ExternalAuth
          externalAuth:
            protocol: HTTP
            backendRef: {name: authorizer, port: 80}
            http: {allowedResponseHeaders: [X-Person, X-Team]}
      backendRefs: [{name: echo, port: 80}]
---
apiVersion: gatewright.dev/v1alpha1
kind: HTTPRouteFilter
metadata: {name: credential}
spec: {credentialInjection: {overwrite: true, credential: {valueRef: {name: credential}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: credential}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [credential.spoof.example.com]
  rules:
    - filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: credential}}]
      backendRefs: [{name: echo, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: plans}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [plans.spoof.example.com]
  rules:
    - matches: [{headers: [{name: X-Plan, value: gold}]}]
      filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Rule, value: gold}]}}]
      backendRefs: [{name: echo, port: 80}]
    - filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Rule, value: free}]}}]
      backendRefs: [{name: echo, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: limited}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [limited.spoof.example.com]
  rules: [{backendRefs: [{name: echo, port: 80}]}]
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: limited}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: limited}]
  rateLimit:
    local:
      rules:
        - clientSelectors: [{sourceCIDR: {type: Distinct, value: 0.0.0.0/0}}]
          limit: {requests: 3, unit: Hour}
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: limited-tokens}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: limited-tokens}]
  rateLimit:
    local:
      rules:
        - clientSelectors: [{headers: [{name: x-user, type: Distinct}]}]
          limit: {requests: 3, unit: Hour}`
