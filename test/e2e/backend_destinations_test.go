//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"
	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

const destinationRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [destinations.example.com]
  rules:
    - {name: hashed, matches: [{path: {value: /hashed}}], backendRefs: [{name: echo, port: 80}]}
    - {name: chosen, matches: [{path: {value: /chosen}}], backendRefs: [{name: echo, port: 80}]}
    - {name: bounded, matches: [{path: {value: /slow}}], backendRefs: [{name: here, port: 80}]}
    - {name: single, matches: [{path: {value: /single}}], backendRefs: [{name: here, port: 80}]}
    - {name: checked, matches: [{path: {value: /checked}}], backendRefs: [{name: sick, port: 80}]}
    - {name: ejected, matches: [{path: {value: /ejected}}], backendRefs: [{name: sick, port: 80}]}
    - {name: weighed, matches: [{path: {value: /weighed}}], backendRefs: [{name: reporting, port: 80}]}
    - {name: reported, matches: [{path: {value: /reported}}], backendRefs: [{name: reporting, port: 80}]}
    - {name: announced, matches: [{path: {value: /announced}}], backendRefs: [{name: proxied, port: 80}]}
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: service}
spec:
  targetRefs: [{group: "", kind: Service, name: echo}]
  loadBalancer: {type: ConsistentHash, consistentHash: {type: Header, header: {name: x-user}}}`

func destinationPolicies() string {
	return destinationRoute +
		rulePolicy("chosen", "loadBalancer: {type: RoundRobin, endpointOverride: {extractFrom: [{header: x-endpoint}]}}") +
		rulePolicy("bounded", "circuitBreaker: {maxParallelRequests: 1}") +
		rulePolicy("single", "circuitBreaker: {maxRequestsPerConnection: 1}") +
		rulePolicy("checked", `healthCheck:
    panicThreshold: 0
    active: {type: HTTP, interval: 1s, timeout: 1s, unhealthyThreshold: 1, healthyThreshold: 1, http: {path: /healthz}}`) +
		rulePolicy("ejected", `healthCheck:
    panicThreshold: 0
    passive: {consecutive5XxErrors: 1, baseEjectionTime: 300s, interval: 1s, maxEjectionPercent: 100}`) +
		rulePolicy("weighed", "loadBalancer: {type: BackendUtilization}") +
		rulePolicy("reported", "loadBalancer: {type: BackendUtilization, backendUtilization: {keepResponseHeaders: true}}") +
		rulePolicy("announced", "proxyProtocol: {version: V2}")
}

const destinationHost = "destinations.example.com"

// destinations is a Gateway with the policies of destinations.
type destinations struct {
	*fixture
	address string
	pods    []corev1.Pod
	// healthy says whether Service sick answers without an error.
	healthy atomic.Bool
	// arrived tells of a request for /slow/held, which waits for leave.
	arrived, leave chan struct{}
}

// TestDestinationPolicies: what BackendTrafficPolicies on a Service and on rules do with the connections to backends.
func TestDestinationPolicies(t *testing.T) {
	t.Parallel()
	d := &destinations{fixture: newFixture(t), arrived: make(chan struct{}, 1), leave: make(chan struct{})}
	d.pods = d.Echo(t, "echo", 3)
	d.EchoService(t, "echo")
	d.address = d.Gateway(t, "gateway")
	d.ServeHere(t, "here", func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/slow/held" {
			d.arrived <- struct{}{}
			<-d.leave
			return
		}
		handler()(response, request)
	})
	d.ServeHere(t, "sick", func(response http.ResponseWriter, _ *http.Request) {
		if !d.healthy.Load() {
			response.WriteHeader(http.StatusInternalServerError)
		}
	})
	d.ServeHere(t, "reporting", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set(loadReport, "TEXT cpu_utilization=0.3")
	})
	proxied := &proxyproto.Listener{Listener: d.ListenHere(t, "proxied"), ReadHeaderTimeout: time.Second}
	server := &http.Server{Handler: handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(proxied) }()
	t.Cleanup(func() { _ = server.Close() })
	d.makeYAML(t, destinationPolicies())
	d.policyProgrammed(t, "service", "chosen", "bounded", "single", "checked", "ejected", "weighed", "reported", "announced")

	// The nodes learn of the proxy apart from Gatewright.
	d.expect(t, d.address, destinationHost, []step{{
		"a first request", "/hashed", nil, func(e exchange) string { return check(e.status, http.StatusOK) },
	}})
	d.checkHash(t)
	d.checkEndpointOverride(t)
	d.checkCircuitBreaker(t)
	d.checkConnections(t)
	d.checkHealth(t)
	for path, want := range map[string]string{"/weighed": "", "/reported": "TEXT cpu_utilization=0.3"} {
		if e := d.ask(t, path); e.status != http.StatusOK || e.header.Get(loadReport) != want {
			t.Errorf("%s: %d, and the client sees the report %q, want %q", path, e.status, e.header.Get(loadReport), want)
		}
	}
}

// loadReport is the header in which a backend reports its load.
const loadReport = "Endpoint-Load-Metrics"

func (d *destinations) ask(t *testing.T, path string, headers ...string) exchange {
	t.Helper()
	e, err := visit(t.Context(), d.address, destinationHost, path, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// checkHash: all requests with one value of a header go to one pod.
func (d *destinations) checkHash(t *testing.T) {
	t.Helper()
	used := map[string]bool{}
	for user := range 12 {
		name := fmt.Sprint("user-", user)
		first := d.ask(t, "/hashed", "X-User", name).seen.Pod
		used[first] = true
		for range 4 {
			if got := d.ask(t, "/hashed", "X-User", name).seen.Pod; got != first {
				t.Errorf("%s went to %s and %s", name, first, got)
			}
		}
	}
	if len(used) < 2 {
		t.Errorf("twelve users went to %v", used)
	}
}

// checkEndpointOverride: a header names the endpoint, and no address that is none.
func (d *destinations) checkEndpointOverride(t *testing.T) {
	t.Helper()
	for i := range d.pods {
		for range 3 {
			endpoint := net.JoinHostPort(d.pods[i].Status.PodIP, fmt.Sprint(live.EchoPort))
			if got := d.ask(t, "/chosen", "X-Endpoint", endpoint).seen.Pod; got != d.pods[i].Name {
				t.Errorf("asked for %s, got %s", d.pods[i].Name, got)
			}
		}
	}
	if e := d.ask(t, "/chosen", "X-Endpoint", "169.254.169.254:80"); e.status != http.StatusOK || e.seen.Pod == "" {
		t.Errorf("an address that is no endpoint: %d %s", e.status, e.body)
	}
}

// checkCircuitBreaker: of two requests at once the second gets 503.
func (d *destinations) checkCircuitBreaker(t *testing.T) {
	t.Helper()
	got := make(chan int, 1)
	go func() {
		e, _ := visit(t.Context(), d.address, destinationHost, "/slow/held")
		got <- e.status
	}()
	<-d.arrived
	if e := d.ask(t, "/slow/second"); e.status != http.StatusServiceUnavailable {
		t.Errorf("the second request at a time: %d", e.status)
	}
	close(d.leave)
	if first := <-got; first != http.StatusOK {
		t.Errorf("the first request: %d", first)
	}
}

// checkConnections: a connection for each request, and the address of the client by the PROXY protocol.
func (d *destinations) checkConnections(t *testing.T) {
	t.Helper()
	remote := func(path string) string { return d.ask(t, path).header.Get("X-Remote") }
	direct := remote("/single")
	if second := remote("/single"); direct == second {
		t.Errorf("two requests came by one connection: %s", direct)
	}
	proxy := d.OneProxy(t, "gateway").Status.PodIP
	if announced := remote("/announced"); !strings.Contains(direct, proxy) || strings.Contains(announced, proxy) {
		t.Errorf("a backend saw %s, and with the PROXY protocol %s; the proxy is %s", direct, announced, proxy)
	}
}

// checkHealth: active and passive health checks.
func (d *destinations) checkHealth(t *testing.T) {
	t.Helper()
	status := func(want int) func(exchange) string { return func(e exchange) string { return check(e.status, want) } }
	d.expect(t, d.address, destinationHost, []step{
		{"an endpoint that fails its health check", "/checked", nil, status(503)},
		{"an endpoint after its first error", "/ejected", nil, status(503)},
	})
	d.healthy.Store(true)
	d.expect(t, d.address, destinationHost, []step{{"an endpoint that is healthy again", "/checked", nil, status(200)}})
	if e := d.ask(t, "/ejected"); e.status != http.StatusServiceUnavailable {
		t.Errorf("an endpoint is ejected for five minutes: %d", e.status)
	}
}

const streamPolicies = `
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TCPRoute
metadata: {name: stream}
spec:
  parentRefs: [{name: streams}]
  rules: [{backendRefs: [{name: proxied, port: 80}]}]
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: stream}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: TCPRoute, name: stream}]
  proxyProtocol: {version: V1}`

// TestStreamPolicies: the settings of destinations apply to TCPRoutes.
func TestStreamPolicies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	plain := w.ListenHere(t, "proxied")
	headers := make(chan string, 100)
	go func() {
		for {
			c, err := plain.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				buffer := make([]byte, 256)
				n, _ := c.Read(buffer)
				select {
				case headers <- string(buffer[:n]):
				default:
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = plain.Close() })
	w.makeYAML(t, streamPolicies)
	gateway := live.GatewayOf("streams")
	gateway.Spec.Listeners[0].Protocol = gwv1.TCPProtocolType
	address := w.Programmed(t, gateway)
	w.policyProgrammed(t, "stream")
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(address, "80"))
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "hello")
		select {
		case got := <-headers:
			if !strings.HasPrefix(got, "PROXY TCP") {
				return fmt.Errorf("the backend got %q", got)
			}
			return nil
		case <-time.After(time.Second):
			return fmt.Errorf("nothing arrived: %w", context.DeadlineExceeded)
		}
	})
}
