//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	logsv1 "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// records takes log records, in the test itself, and keeps the mark of each.
type records struct {
	logsv1.UnimplementedLogsServiceServer
	mu    sync.Mutex
	marks map[string]string
}

func (r *records) Export(_ context.Context, request *logsv1.ExportLogsServiceRequest) (*logsv1.ExportLogsServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range request.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				r.marks[text(record.GetAttributes(), "mark")] = text(record.GetAttributes(), "status")
			}
		}
	}
	return &logsv1.ExportLogsServiceResponse{}, nil
}

func (r *records) get(mark string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.marks[mark]
}

// TestProxyConfigTelemetry sees by traffic what a ProxyConfig says about those who are told of requests: lines on standard output, of
// the fields and the format it chooses and of the requests it chooses, records and spans.
func TestProxyConfigTelemetry(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	spans, logs := &collector{spans: map[string]span{}}, &records{marks: map[string]string{}}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, spans)
	logsv1.RegisterLogsServiceServer(server, logs)
	listener := w.ListenHere(t, "otel")
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	receiver := gwv1.BackendObjectReference{Name: "otel", Port: new(gwv1.PortNumber(80))}
	fields := map[string]v1alpha1.LogFormat{"mark": "%REQ(" + marker + ")%", "status": "%RESPONSE_CODE%"}
	gateway, config := live.GatewayWith("told", v1alpha1.ProxyConfigSpec{
		AccessLogs: []v1alpha1.AccessLog{
			{Type: v1alpha1.JSONAccessLog, Fields: fields},
			{
				Type: v1alpha1.TextAccessLog, Format: new(v1alpha1.LogFormat("failed %REQ(" + marker + ")% %RESPONSE_CODE%")),
				MinimumStatus: new(int32(400)),
			},
			{Type: v1alpha1.OTLPAccessLog, Fields: fields, OTLP: &v1alpha1.OTLPReceiver{BackendRef: receiver}},
		},
		Tracing: &v1alpha1.Tracing{BackendRef: receiver, ServiceName: new("edge-of-the-shop"), SamplingRate: &gwv1.Fraction{Numerator: 100}},
	})
	w.Make(t, config)
	address := w.Programmed(t, gateway)
	w.Route(t, "route", "told", tracedHost, "echo")
	w.WaitServed(t, address, tracedHost)
	good, err := w.mark(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := w.ask(
		t.Context(), address, "unknown.example.com", "", map[string]string{marker: "bad"},
	); err != nil || answer.status != http.StatusNotFound {
		t.Errorf("an unknown host is answered %d: %v", answer.status, err)
	}
	proxy := w.OneProxy(t, "told")
	live.Eventually(t, time.Minute, 500*time.Millisecond, func(ctx context.Context) error {
		written, err := w.written(ctx, proxy)
		if err != nil {
			return err
		}
		s, traced := spans.get("")
		return errors.Join(
			so("a line of JSON is there", strings.Contains(written, `{"mark":"`+good+`","status":200}`)),
			so("one of what failed too", strings.Contains(written, `{"mark":"bad","status":404}`)),
			so("a line of text is there", strings.Contains(written, "failed bad 404\n")),
			so("there is none of what went well", !strings.Contains(written, "failed "+good)),
			so("records have come", logs.get(good) == "200" && logs.get("bad") == "404"),
			so("a span has come", traced && s.service == "edge-of-the-shop"),
		)
	})

	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) { s.AccessLogs = []v1alpha1.AccessLog{} })
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		before, err := w.written(ctx, proxy)
		if err != nil {
			return err
		}
		m, err := w.mark(ctx, address, nil)
		if err != nil {
			return err
		}
		// There is no event for a line that is not written. Envoy writes once a second.
		select {
		case <-ctx.Done():
		case <-time.After(3 * time.Second):
		}
		after, err := w.written(ctx, proxy)
		return errors.Join(err, so("nothing is written any more", !strings.Contains(strings.TrimPrefix(after, before), m)))
	})
}

func so(what string, is bool) error {
	if is {
		return nil
	}
	return fmt.Errorf("it is not so that %s", what)
}

// written is what a proxy has on its standard output.
func (w *fixture) written(ctx context.Context, pod *corev1.Pod) (string, error) {
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

// TestProxyConfigLimits sees by traffic how many connections a proxy takes, what it counts of a backend, and whom its load balancer
// lets in.
func TestProxyConfigLimits(t *testing.T) {
	t.Parallel()
	const host, most = "limited.example.com", 4
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	gateway, config := live.GatewayWith("limited", v1alpha1.ProxyConfigSpec{
		Limits:  &v1alpha1.Limits{Connections: new(int64(most))},
		Metrics: &v1alpha1.Metrics{Backends: new(v1alpha1.MetricsEnabled)},
	})
	w.Make(t, config)
	address := w.Programmed(t, gateway)
	w.Route(t, "route", "limited", host, "echo")
	w.WaitServed(t, address, host)
	counted, err := readMetric(t.Context(), "http://"+net.JoinHostPort(w.OneProxy(t, "limited").Status.PodIP, "19001")+"/metrics",
		`envoy_cluster_upstream_rq_total{envoy_cluster_name="`+w.Namespace+`/echo/80"}`)
	if err != nil || counted == "0" {
		t.Errorf("requests to the backend are counted as %q: %v", counted, err)
	}
	served := 0
	for range 2 * most {
		if keeps(t, address, host) {
			served++
		}
	}
	// The probes of the kubelet may hold one for a moment.
	if served > most || served < most-1 {
		t.Errorf("%d connections were served at a time, and %d are allowed", served, most)
	}

	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) {
		s.Limits = nil
		s.Service = &v1alpha1.Service{LoadBalancerSourceRanges: []string{"192.0.2.0/24"}}
	})
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := w.Request(ctx, address, host)
		return so("a client outside the range is kept out", err != nil)
	})
	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) { s.Service.LoadBalancerSourceRanges = []string{"0.0.0.0/0"} })
	w.WaitServed(t, address, host)
}

// keeps opens a connection, says whether a request is served on it, and keeps it until the test ends.
func keeps(t *testing.T, address, host string) bool {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(address, "80"))
	if err != nil {
		return false
	}
	t.Cleanup(func() { _ = connection.Close() })
	_ = connection.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := fmt.Fprintf(connection, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
		return false
	}
	status := make([]byte, len("HTTP/1.1 200"))
	_, err = io.ReadFull(connection, status)
	return err == nil && string(status) == fmt.Sprintf("HTTP/1.1 %d", http.StatusOK)
}
