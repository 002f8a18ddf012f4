//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/test/live"
)

const (
	migratedFile = "../../internal/pipeline/testdata/MigratedObjects/in.yaml"
	migratedHost = "deploy.example.com"
	serverHeader = "X-Server"
)

// migrated is the Gateway of a user of Envoy Gateway, with routes and policies.
type migrated struct {
	*fixture
	address string
	// client has one connection for each host, so one proxy counts its requests.
	client *http.Client

	lock sync.Mutex
	// attempts is how many requests of a path the backend got.
	attempts map[string]int
}

// TestMigratedObjects applies objects of a user of Envoy Gateway, changed as docs/policies/migrate-from-envoy-gateway.md says. All of them
// are Accepted and Programmed, and requests see what they ask for.
func TestMigratedObjects(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(migratedFile)
	if err != nil {
		t.Fatal(err)
	}
	m := &migrated{fixture: newFixture(t), attempts: map[string]int{}}
	m.Make(t, live.TLSSecret(t, "cert", migratedHost))
	m.ServeHere(t, "v1", m.answer)
	m.addSickEndpoint(t)
	m.serveGRPC(t, "v2")
	m.makeYAML(t, string(text))
	m.address = m.WaitProgrammed(t, &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: "edge"}})
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		m.waitAccepted(t, document)
	}
	m.client = m.secureClient(t)
	// The nodes learn of the proxies apart from Gatewright.
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		answer, err := m.send(ctx, http.MethodGet, migratedHost+"/")
		if err == nil && answer.status != http.StatusOK {
			err = fmt.Errorf("the first request is answered %d", answer.status)
		}
		return err
	})

	m.checkFleet(t)
	m.checkRoutes(t)
	m.checkClients(t)
	m.checkHealthChecks(t)
	m.checkCORS(t)
	m.checkRetries(t)
	m.checkRateLimits(t)
}

// answer is the backend. The status of its health check is in the list of the policy, but is not the default.
func (m *migrated) answer(response http.ResponseWriter, request *http.Request) {
	path := request.URL.Path
	m.lock.Lock()
	m.attempts[path]++
	attempt := m.attempts[path]
	m.lock.Unlock()
	response.Header().Set(serverHeader, "healthy")
	switch {
	case path == "/healthz":
		response.WriteHeader(http.StatusNoContent)
	case path == "/broken", path == "/flaky" && attempt <= 3:
		response.WriteHeader(http.StatusServiceUnavailable)
	case path == "/slow" && attempt == 1:
		<-request.Context().Done()
	}
}

func (m *migrated) attemptsOf(path string) int {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.attempts[path]
}

// addSickEndpoint gives the Service v1 a second endpoint, which serves requests and fails its health check.
func (m *migrated) addSickEndpoint(t *testing.T) {
	t.Helper()
	m.ServeHere(t, "sick", func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set(serverHeader, "sick")
		if request.URL.Path == "/healthz" {
			response.WriteHeader(http.StatusInternalServerError)
		}
	})
	slice := &discoveryv1.EndpointSlice{}
	if err := m.Get(t.Context(), client.ObjectKey{Namespace: m.Namespace, Name: "sick"}, slice); err != nil {
		t.Fatal(err)
	}
	m.Make(t, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "also-sick", Labels: map[string]string{discoveryv1.LabelServiceName: "v1"}},
		AddressType: slice.AddressType, Ports: slice.Ports, Endpoints: slice.Endpoints,
	})
}

// waitAccepted waits until an object has the conditions Accepted and Programmed, at each parent if it has any.
func (m *migrated) waitAccepted(t *testing.T, document string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
		t.Fatal(err)
	}
	if object.GetKind() == "ProxyConfig" {
		return // it has no status; the Gateway says what is wrong with it
	}
	object.SetNamespace(m.Namespace)
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := m.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		var read struct {
			Status struct {
				Conditions []metav1.Condition       `json:"conditions"`
				Parents    []gwv1.RouteParentStatus `json:"parents"`
			} `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
			return fmt.Errorf("read the status: %w", err)
		}
		lists := [][]metav1.Condition{read.Status.Conditions}
		for i, parent := range read.Status.Parents {
			lists = append(lists[:i], parent.Conditions)
		}
		for _, list := range lists {
			for _, name := range []string{"Accepted", "Programmed"} {
				c := meta.FindStatusCondition(list, name)
				if c == nil || c.Status != metav1.ConditionTrue || c.Reason != name || c.ObservedGeneration != object.GetGeneration() {
					return fmt.Errorf("%s %s: %s is %+v", object.GetKind(), object.GetName(), name, c)
				}
			}
		}
		return nil
	})
}

// secureClient sends requests of every host to the Gateway, over HTTP/2.
func (m *migrated) secureClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is the test's own
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(m.address, "443"))
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// send sends a request without a body, with headers in pairs.
func (m *migrated) send(ctx context.Context, method, target string, headers ...string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+target, http.NoBody)
	if err != nil {
		return reply{}, fmt.Errorf("make a request: %w", err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := m.client.Do(request)
	if err != nil {
		return reply{}, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return reply{status: response.StatusCode, header: response.Header}, err
}

func (m *migrated) get(t *testing.T, path string) reply {
	t.Helper()
	answer, err := m.send(t.Context(), http.MethodGet, migratedHost+path)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// checkFleet: what was an EnvoyProxy is a ProxyConfig. The strategy of updates is the default.
func (m *migrated) checkFleet(t *testing.T) {
	t.Helper()
	var fleet appsv1.Deployment
	name := client.ObjectKey{Namespace: m.Namespace, Name: "edge-" + live.GatewayClass}
	if err := m.Get(t.Context(), name, &fleet); err != nil {
		t.Fatal(err)
	}
	pod, update := fleet.Spec.Template.Spec, fleet.Spec.Strategy.RollingUpdate
	apart := pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	spread := pod.TopologySpreadConstraints
	if *fleet.Spec.Replicas != 3 || update.MaxSurge.IntValue() != 1 || update.MaxUnavailable.IntValue() != 0 ||
		len(apart) != 1 || apart[0].TopologyKey != corev1.LabelTopologyZone ||
		len(spread) != 1 || spread[0].TopologyKey != corev1.LabelHostname || spread[0].WhenUnsatisfiable != corev1.ScheduleAnyway {
		t.Errorf("the fleet is %+v", fleet.Spec)
	}
	var service corev1.Service
	if err := m.Get(t.Context(), name, &service); err != nil {
		t.Fatal(err)
	}
	if group := service.Annotations["service.beta.kubernetes.io/azure-load-balancer-resource-group"]; group != "rg-networking" ||
		service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		t.Errorf("the Service has the type %s and the annotations %v", service.Spec.Type, service.Annotations)
	}
}

// checkRoutes: each listener leads to its routes, and the GRPCRoute without matches takes every call.
func (m *migrated) checkRoutes(t *testing.T) {
	t.Helper()
	for _, target := range []string{migratedHost + "/", migratedHost + "/api", migratedHost + "/static", "a.apps.example.com/"} {
		if answer, err := m.send(t.Context(), http.MethodGet, target); err != nil || answer.status != http.StatusOK {
			t.Fatalf("%s is answered %d, %v", target, answer.status, err)
		}
	}
	const host = "grpc." + migratedHost
	config := &tls.Config{ServerName: host, InsecureSkipVerify: true} //nolint:gosec // the certificate is the test's own
	for _, call := range []string{"/version.VersionService/Version", "/a.b.C/D"} {
		answer, err := live.RawHTTP2(t.Context(), net.JoinHostPort(m.address, "443"), config, emptyMessage, ":method", "POST",
			":scheme", "https", ":authority", host, ":path", call, "content-type", "application/grpc", "te", "trailers")
		if err != nil || answer.Status != http.StatusOK || answer.Header.Get("grpc-status") != "0" {
			t.Errorf("the call %s is answered %d with status %q, %v", call, answer.Status, answer.Header.Get("grpc-status"), err)
		}
	}
}

// checkClients: the ClientTrafficPolicy decides about versions and ciphers of TLS, and about HTTP/2.
func (m *migrated) checkClients(t *testing.T) {
	t.Helper()
	connect := func(config *tls.Config) (*tls.Conn, error) {
		config.ServerName, config.InsecureSkipVerify = migratedHost, true
		return tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", net.JoinHostPort(m.address, "443"), config)
	}
	oldest := &tls.Config{MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11} //nolint:gosec // it is refused
	older := func(ciphers ...uint16) *tls.Config {
		return &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: ciphers} //nolint:gosec // ciphers are for this version
	}
	for _, c := range []struct {
		name   string
		config *tls.Config
		taken  bool
	}{
		{"TLS 1.1", oldest, false},
		{"TLS 1.2", older(), true},
		{"TLS 1.3", &tls.Config{MinVersion: tls.VersionTLS13}, true},
		{"a cipher of the list", older(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256), true},
		{"another cipher", older(tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384), false},
	} {
		connection, err := connect(c.config)
		if err == nil {
			_ = connection.Close()
		}
		if (err == nil) != c.taken {
			t.Errorf("%s: %v, want it to be taken: %v", c.name, err, c.taken)
		}
	}
	connection, err := connect(&tls.Config{NextProtos: []string{http2.NextProtoTLS}})
	if err != nil {
		t.Fatal(err)
	}
	settings, window := readSettings(t, startHTTP2(t, connection))
	if settings[http2.SettingMaxConcurrentStreams] != 100 || settings[http2.SettingInitialWindowSize] != 64<<10 || window != 1<<20 {
		t.Errorf("allowed are %v, and %d bytes on a connection", settings, window)
	}
}

// checkHealthChecks: the endpoint that answers 204 is healthy, and the other one gets no request. Were the first one not healthy, either
// would get some.
func (m *migrated) checkHealthChecks(t *testing.T) {
	t.Helper()
	if m.attemptsOf("/healthz") == 0 {
		t.Error("no proxy has asked whether the endpoint is healthy")
	}
	for range 20 {
		if answer := m.get(t, "/"); answer.status != http.StatusOK || answer.header.Get(serverHeader) != "healthy" {
			t.Fatalf("a request is answered %d by the endpoint %q", answer.status, answer.header.Get(serverHeader))
		}
	}
}

// checkCORS: the SecurityPolicy answers preflights of its origin only.
func (m *migrated) checkCORS(t *testing.T) {
	t.Helper()
	for origin, want := range map[string][]string{
		"https://" + migratedHost: {"https://" + migratedHost, "true", "86400"}, "https://other.example": {""},
	} {
		answer, err := m.send(t.Context(), http.MethodOptions, migratedHost+"/", "Origin", origin,
			"Access-Control-Request-Method", http.MethodDelete, "Access-Control-Request-Headers", "x-requested-with")
		if err != nil {
			t.Fatal(err)
		}
		// Without the first, browsers ignore the others.
		for i, header := range []string{"Allow-Origin", "Allow-Credentials", "Max-Age"}[:len(want)] {
			if got := answer.header.Get("Access-Control-" + header); got != want[i] {
				t.Errorf("a preflight of %s is answered %s: %q, want %q", origin, header, got, want[i])
			}
		}
	}
}

// checkRetries: a request is sent up to three times more, and an attempt has ten seconds.
func (m *migrated) checkRetries(t *testing.T) {
	t.Helper()
	for path, want := range map[string]int{"/flaky": http.StatusOK, "/broken": http.StatusServiceUnavailable} {
		if answer := m.get(t, path); answer.status != want || m.attemptsOf(path) != 4 {
			t.Errorf("%s is answered %d after %d attempts, want %d after 4", path, answer.status, m.attemptsOf(path), want)
		}
	}
	began := time.Now()
	answer := m.get(t, "/slow")
	if took := time.Since(began); answer.status != http.StatusOK || m.attemptsOf("/slow") != 2 || took < 9*time.Second {
		t.Errorf("a slow attempt: %d after %s and %d attempts", answer.status, took, m.attemptsOf("/slow"))
	}
}

// checkRateLimits sends more requests than a proxy lets pass in two minutes. They come by one connection, so one proxy counts them.
func (m *migrated) checkRateLimits(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		path  string
		limit int
	}{{"/api/v1/session", 10}, {"/static", 100}} {
		began, passed, limited := time.Now(), 0, 0
		for range 2*c.limit + 5 {
			switch answer := m.get(t, c.path); answer.status {
			case http.StatusOK:
				passed++
			case http.StatusTooManyRequests:
				limited++
			default:
				t.Fatalf("%s is answered %d", c.path, answer.status)
			}
		}
		if took := time.Since(began); passed < c.limit-5 || limited == 0 && took < time.Minute {
			t.Errorf("%s: %d requests passed in %s, and %d did not; the limit is %d in a minute", c.path, passed, took, limited, c.limit)
		}
	}
	if answer := m.get(t, "/api/v1/other"); answer.status != http.StatusOK {
		t.Errorf("a path without a limit of its own is answered %d", answer.status)
	}
}

// TestMigratedSpellings applies what documents about Envoy Gateway have and neither it nor Gatewright knows, as kubectl does: the answer
// names what is right.
func TestMigratedSpellings(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const own, standard = "gatewright.dev/v1alpha1", "gateway.networking.k8s.io/v1"
	const targets = "targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gateway}], "
	for _, c := range []struct{ kind, version, spec, want string }{
		{"BackendTrafficPolicy", own, targets + "circuitBreaker: {maxRequests: 1024}", "use maxParallelRequests"},
		{"BackendTrafficPolicy", own, targets + "circuitBreaker: {maxRetries: 3}", "use maxParallelRetries"},
		{
			"BackendTrafficPolicy", own,
			targets + "healthCheck: {active: {type: HTTP, http: {path: /, expectedStatuses: [{start: 200, end: 299}]}}}",
			"expectedStatuses[0] in body must be of type int32",
		},
		{"ClientTrafficPolicy", own, targets + "tls: {minVersion: TLSv1_2}", `supported values: "Auto", "1.0", "1.1", "1.2", "1.3"`},
		{
			"SecurityPolicy", own, targets + "rateLimit: {type: Local, local: {rules: [{limit: {requests: 100, unit: Minute}}]}}",
			"use rateLimit of a BackendTrafficPolicy",
		},
		{"GRPCRoute", standard, `rules: [{matches: [{method: {service: "*"}}]}]`, "service must only contain valid characters"},
		{"GRPCRoute", standard, `rules: [{matches: [{method: {method: "*"}}]}]`, "method must only contain valid characters"},
	} {
		object := &unstructured.Unstructured{}
		text := "apiVersion: " + c.version + "\nkind: " + c.kind + "\nmetadata: {name: wrong}\nspec: {" + c.spec + "}"
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace(w.Namespace)
		err := w.Create(t.Context(), object, client.FieldValidation(metav1.FieldValidationStrict), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v, want %q", c.kind, c.spec, err, c.want)
		}
	}
}
