//go:build fault

package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// spoofedHeaders are all headers in which proxies tell each other about a client, or steer Envoy: those of Envoy's documentation of its
// router, its connection manager and its filter for faults, those that other proxies write, and our own.
var spoofedHeaders = []string{
	"forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port", "x-forwarded-prefix", "x-forwarded-server",
	"x-forwarded-scheme", "x-forwarded-ssl", "x-forwarded-by", "x-forwarded-client-cert",
	"x-envoy-attempt-count", "x-envoy-decorator-operation", "x-envoy-degraded", "x-envoy-downstream-service-cluster",
	"x-envoy-downstream-service-node", "x-envoy-expected-rq-timeout-ms", "x-envoy-external-address", "x-envoy-fault-abort-grpc-request",
	"x-envoy-fault-abort-request", "x-envoy-fault-abort-request-percentage", "x-envoy-fault-delay-request",
	"x-envoy-fault-delay-request-percentage", "x-envoy-fault-throughput-response", "x-envoy-fault-throughput-response-percentage",
	"x-envoy-force-trace", "x-envoy-hedge-on-per-try-timeout", "x-envoy-immediate-health-check-fail", "x-envoy-internal", "x-envoy-ip-tags",
	"x-envoy-is-timeout-retry", "x-envoy-local-overloaded", "x-envoy-max-retries", "x-envoy-original-dst-host", "x-envoy-original-host",
	"x-envoy-original-path", "x-envoy-original-url", "x-envoy-overloaded", "x-envoy-ratelimited", "x-envoy-retriable-header-names",
	"x-envoy-retriable-status-codes", "x-envoy-retry-grpc-on", "x-envoy-retry-on", "x-envoy-upstream-alt-stat-name", "x-envoy-upstream-canary",
	"x-envoy-upstream-healthchecked-cluster", "x-envoy-upstream-rq-per-try-timeout-ms", "x-envoy-upstream-rq-timeout-alt-response",
	"x-envoy-upstream-rq-timeout-ms", "x-envoy-upstream-service-time", "x-envoy-upstream-stream-duration-ms", "x-envoy-of-a-later-version",
	"x-gatewright-scope",
}

// TestCase42SpoofedHeaders: nothing that a client says about itself, about other proxies or to Envoy is believed or passed on, and nothing
// that it sends makes a line of the access log that it did not earn.
func TestCase42SpoofedHeaders(t *testing.T) {
	t.Parallel()
	c := begin(t, "42", "clients spoof headers and inject into logs")
	w := &fixture{Fixture: live.New(t)}
	var answered atomic.Int32
	w.ServeHere(t, serviceName, func(rw http.ResponseWriter, r *http.Request) {
		answered.Add(1)
		switch r.URL.Path {
		case "/slow":
			time.Sleep(300 * time.Millisecond)
		case "/broken":
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{"pod": "here", "headers": r.Header})
	})
	gateway, proxyConfig := live.GatewayWith(gatewayName, v1alpha1.ProxyConfigSpec{AccessLogs: []v1alpha1.AccessLog{
		{Type: v1alpha1.JSONAccessLog, Fields: map[string]v1alpha1.LogFormat{
			"json": "%REQ(X-MARK)%", "path": "%REQ(:PATH)%", "agent": "%REQ(USER-AGENT)%", "host": "%REQ(:AUTHORITY)%", "status": "%RESPONSE_CODE%",
		}},
		{
			Type:   v1alpha1.TextAccessLog,
			Format: new(v1alpha1.LogFormat(`text %RESPONSE_CODE% "%REQ(:PATH)%" "%REQ(USER-AGENT)%" "%REQ(:AUTHORITY)%"`)),
		},
	}})
	w.Make(t, proxyConfig)
	w.address = w.Programmed(t, gateway)
	route := live.HTTPRoute("steady", gatewayName, steadyHost, serviceName)
	route.Spec.Hostnames = append(route.Spec.Hostnames, gwv1.Hostname("other.example.com"))
	w.Make(t, route)
	w.WaitServed(t, w.address, steadyHost)

	c.none(w.spoofed(t), fmt.Sprintf("of %d spoofed headers accepted", len(spoofedHeaders)))
	c.none(w.steered(t, &answered), "of 3 attempts to steer the proxy accepted")
	lines, forged := w.injected(t)
	c.none(forged, fmt.Sprintf("of %d lines forged", lines))
}

// spoofed counts the headers that arrive at the backend with the value that the client gave them.
func (w *fixture) spoofed(t *testing.T) int {
	t.Helper()
	const lie = "192.0.2.66"
	accepted := 0
	for _, header := range spoofedHeaders {
		for _, spelling := range []string{header, strings.ToUpper(header)} {
			status, body := w.get(t, "/", steadyHost, spelling+": "+lie, spelling+": "+lie)
			if status == http.StatusBadRequest {
				continue
			}
			if status != http.StatusOK || strings.Contains(body, lie) {
				t.Logf("%s is answered %d %s", spelling, status, body)
				accepted++
			}
		}
	}
	// A client may not have the proxy remove what the proxy itself writes.
	status, body := w.send(t, "GET / HTTP/1.1\r\nHost: "+steadyHost+"\r\nConnection: close, x-forwarded-for, x-forwarded-proto\r\n\r\n")
	echoed := strings.Contains(body, "X-Forwarded-For") && strings.Contains(body, "X-Forwarded-Proto")
	if status != http.StatusBadRequest && (status != http.StatusOK || !echoed) {
		t.Logf("a client has headers removed: %d %s", status, body)
		accepted++
	}
	return accepted
}

// steered counts the headers for Envoy that have an effect: a timeout, retries, another backend.
func (w *fixture) steered(t *testing.T, answered *atomic.Int32) int {
	t.Helper()
	accepted := 0
	if status, _ := w.get(t, "/slow", steadyHost, "x-envoy-upstream-rq-timeout-ms: 10"); status != http.StatusOK {
		t.Logf("a client sets the timeout: %d", status)
		accepted++
	}
	before := answered.Load()
	w.get(t, "/broken", steadyHost, "x-envoy-retry-on: 5xx", "x-envoy-max-retries: 5")
	if got := answered.Load() - before; got != 1 {
		t.Logf("a client has its request tried %d times", got)
		accepted++
	}
	if status, _ := w.get(t, "/", "unknown.example.com", "x-gatewright-scope: "+steadyHost); status != http.StatusNotFound {
		t.Logf("a client chooses the routes of another host: %d", status)
		accepted++
	}
	return accepted
}

// injected sends what would forge lines if it were written as it is, and counts the lines that no request earned.
func (w *fixture) injected(t *testing.T) (lines, forged int) {
	t.Helper()
	const forgery = `text 200 "/forged" "x" "y"`
	tricks := []string{
		"\n" + forgery, "\r\n" + forgery, "\r" + forgery, "%0a" + forgery, "%0d%0a", "\x00", "\x1b[2K\x1b[1G" + forgery,
		"\x08\x08\x08", "\x7f", "\xff\xfe", "\x85",
		`"} {"json":"forged"}`, `\u000a`, `\n`, `\"`, `"`, `'`, "\u2028", "\t", "${jndi:ldap://x}", "%REQ(AUTHORIZATION)%", "%ENVIRONMENT(PATH)%",
	}
	for i, trick := range tricks {
		mark := fmt.Sprintf("mark-%d", i)
		tail := "X-Mark: " + mark + "\r\nAuthorization: secret-42\r\nConnection: close\r\n\r\n"
		w.send(t, "GET /"+strings.ReplaceAll(trick, " ", "_")+" HTTP/1.1\r\nHost: "+steadyHost+"\r\n"+tail)
		w.send(t, "GET / HTTP/1.1\r\nHost: "+steadyHost+"\r\nUser-Agent: a"+trick+"\r\n"+tail)
		w.send(t, "GET / HTTP/1.1\r\nHost: "+steadyHost+trick+"\r\n"+tail)
	}
	last := "GET /last HTTP/1.1\r\nHost: " + steadyHost + "\r\nX-Mark: last\r\nConnection: close\r\n\r\n"
	if status, _ := w.send(t, last); status != http.StatusOK {
		t.Fatalf("the proxy answers %d", status)
	}
	var written string
	live.Eventually(t, 30*time.Second, 500*time.Millisecond, func(ctx context.Context) error {
		var err error
		if written, err = w.logOf(ctx, w.OneProxy(t, gatewayName)); err == nil && !strings.Contains(written, `"json":"last"`) {
			err = fmt.Errorf("the last request is not in the log")
		}
		return err
	})
	for line := range strings.Lines(written) {
		lines++
		line = strings.TrimSuffix(line, "\n")
		var fields map[string]any
		switch {
		case strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }), strings.Contains(line, "secret-42"):
			t.Logf("a line has what it should not: %q", line)
			forged++
		case strings.HasPrefix(line, "{"):
			if json.Unmarshal([]byte(line), &fields) != nil || fields["json"] == "forged" {
				t.Logf("not a line of JSON: %q", line)
				forged++
			}
		case strings.HasPrefix(line, forgery), !strings.HasPrefix(line, "text ") && !strings.HasPrefix(line, "["):
			t.Logf("a line without a request: %q", line)
			forged++
		}
	}
	return lines, forged
}

// get asks for a path with headers that are written as they are.
func (w *fixture) get(t *testing.T, path, host string, headers ...string) (int, string) {
	t.Helper()
	return w.send(t, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n"+strings.Join(headers, "\r\n")+"\r\nConnection: close\r\n\r\n")
}

// send sends bytes as they are, and returns the status of the answer and its body. A connection that is closed without one is status 0.
func (w *fixture) send(t *testing.T, request string) (int, string) {
	t.Helper()
	connection, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", net.JoinHostPort(w.address, "80"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(connection, request); err != nil {
		return 0, ""
	}
	answer, _ := io.ReadAll(connection)
	var status int
	if _, err := fmt.Sscanf(string(answer), "HTTP/1.1 %d", &status); err != nil {
		return 0, ""
	}
	_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
	return status, body
}

// logOf is what a proxy has on its standard output.
func (w *fixture) logOf(ctx context.Context, pod *corev1.Pod) (string, error) {
	clients, err := kubernetes.NewForConfig(config.GetConfigOrDie())
	if err != nil {
		return "", fmt.Errorf("make a client: %w", err)
	}
	raw, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: "envoy"}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read the log of %s: %w", pod.Name, err)
	}
	return string(raw), nil
}
