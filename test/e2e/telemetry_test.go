//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/test/live"
)

const tracedHost = "traced.example.com"

// collector takes spans, in the test itself, and keeps them by the request that they are of.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans map[string]span
}

type span struct {
	*tracev1.Span
	service, key string
}

// marker is the header by which the test tells its requests.
const marker = "X-Marker"

func (c *collector) Export(ctx context.Context, request *collectorv1.ExportTraceServiceRequest) (
	*collectorv1.ExportTraceServiceResponse, error,
) {
	sent, _ := metadata.FromIncomingContext(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans[text(s.GetAttributes(), "marker")] = span{s, text(resource.GetResource().GetAttributes(), "service.name"), strings.Join(
					sent.Get("x-key"), ",",
				)}
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// startCollector is behind the Service otel.
func (w *fixture) startCollector(t *testing.T) *collector {
	t.Helper()
	spans := &collector{spans: map[string]span{}}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, spans)
	listener := w.ListenHere(t, "otel")
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return spans
}

func (c *collector) get(mark string) (span, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.spans[mark]
	return s, ok
}

func text(attributes []*commonv1.KeyValue, key string) string {
	for _, a := range attributes {
		if a.GetKey() == key {
			if n, ok := a.GetValue().GetValue().(*commonv1.AnyValue_IntValue); ok {
				return fmt.Sprintf("number %d", n.IntValue)
			}
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// TestTelemetryPolicy has requests become spans that a collector gets: with what the policy wants in them, as many as it wants, and
// none any more when it says so. A younger policy for the same Gateway is told that it does not count.
func TestTelemetryPolicy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	spans := w.startCollector(t)
	address := w.Gateway(t, "gateway")
	w.Route(t, "route", "gateway", tracedHost, "echo")
	w.WaitServed(t, address, tracedHost)

	policy := telemetryPolicy("older")
	w.Make(t, policy)
	w.waitTelemetry(t, policy, "Accepted")
	w.waitTraced(t, spans, address)
	w.checkSpan(t, spans, address)

	younger := telemetryPolicy("younger")
	w.Make(t, younger)
	w.waitTelemetry(t, younger, "Conflicted")

	sampled, unsampled := map[string]string{"Traceparent": parent("01")}, map[string]string{"Traceparent": parent("00")}
	w.expectSpans(t, spans, address, sampled, 20)
	w.expectSpans(t, spans, address, unsampled, 0)

	w.change(t, policy, func(c *gwxv1alpha1.TracingConfig) {
		c.ParentBasedSampling = gwxv1alpha1.ParentBasedSampling{
			Mode: gwxv1alpha1.ParentBasedSamplingModeEnabled, SamplingRate: &gwv1.Fraction{Numerator: 0},
		}
	})
	w.expectSpans(t, spans, address, sampled, 0)
	w.expectSpans(t, spans, address, nil, 20)

	w.change(t, policy, func(c *gwxv1alpha1.TracingConfig) {
		c.ParentBasedSampling = gwxv1alpha1.ParentBasedSampling{Mode: gwxv1alpha1.ParentBasedSamplingModeDisabled}
	})
	w.expectSpans(t, spans, address, unsampled, 20)

	w.change(t, policy, func(c *gwxv1alpha1.TracingConfig) { c.SamplingRate = &gwv1.Fraction{Numerator: 0} })
	w.expectSpans(t, spans, address, nil, 0)

	w.change(t, policy, func(c *gwxv1alpha1.TracingConfig) {
		*c = gwxv1alpha1.TracingConfig{Mode: gwxv1alpha1.TracingModeDisabled}
	})
	w.expectSpans(t, spans, address, sampled, 0)
}

func parent(flags string) string {
	return "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + flags
}

func telemetryPolicy(name string) *gwxv1alpha1.XTelemetryPolicy {
	policy := &gwxv1alpha1.XTelemetryPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.TargetRefs = []gwv1.LocalObjectReference{{Group: gwv1.GroupName, Kind: "Gateway", Name: "gateway"}}
	policy.Spec.Tracing = gwxv1alpha1.TracingConfig{
		Mode: gwxv1alpha1.TracingModeEnabled, ServiceName: "shop", SpanName: "edge",
		Provider: gwxv1alpha1.TracingProvider{
			BackendRef: gwv1.BackendObjectReference{Name: "otel", Port: new(gwv1.PortNumber(80))},
			Headers:    []gwv1.HTTPHeader{{Name: "X-Key", Value: "secret"}},
		},
		Attributes: []gwxv1alpha1.Attribute{
			{Name: "marker", SourceType: gwxv1alpha1.AttributeSourceHeader, HeaderName: marker},
			{Name: "env", SourceType: gwxv1alpha1.AttributeSourceLiteral, LiteralValue: "100%"},
			{Name: "code", SourceType: gwxv1alpha1.AttributeSourceAttribute, AttributeKey: "http.response.status_code"},
			{Name: "version", SourceType: gwxv1alpha1.AttributeSourceAttribute, AttributeKey: "network.protocol.version"},
			{Name: "host", SourceType: gwxv1alpha1.AttributeSourceAttribute, AttributeKey: "server.address"},
			{Name: "port", SourceType: gwxv1alpha1.AttributeSourceAttribute, AttributeKey: "server.port"},
		},
	}
	return policy
}

// waitTelemetry waits for the reason of a policy's Accepted condition.
func (w *fixture) waitTelemetry(t *testing.T, policy *gwxv1alpha1.XTelemetryPolicy, reason string) {
	t.Helper()
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
			return fmt.Errorf("get the policy: %w", err)
		}
		for _, a := range policy.Status.Ancestors {
			c := meta.FindStatusCondition(a.Conditions, string(gwv1.PolicyConditionAccepted))
			if c != nil && c.Reason == reason && c.ObservedGeneration == policy.Generation {
				return nil
			}
		}
		return fmt.Errorf("the policy should say %s: %+v", reason, policy.Status)
	})
}

// change edits a policy and waits until that has been taken notice of.
func (w *fixture) change(t *testing.T, policy *gwxv1alpha1.XTelemetryPolicy, edit func(*gwxv1alpha1.TracingConfig)) {
	t.Helper()
	edit(&policy.Spec.Tracing)
	if err := w.Update(t.Context(), policy); err != nil {
		t.Fatalf("update the policy: %v", err)
	}
	w.waitTelemetry(t, policy, "Accepted")
}

var marks = struct {
	sync.Mutex
	n int
}{}

// mark sends a request and returns what tells its span.
func (w *fixture) mark(ctx context.Context, address string, headers map[string]string) (string, error) {
	marks.Lock()
	marks.n++
	m := fmt.Sprintf("%s-%d", w.Namespace, marks.n)
	marks.Unlock()
	all := map[string]string{marker: m}
	for name, value := range headers {
		all[name] = value
	}
	_, err := w.ask(ctx, address, tracedHost, "", all)
	return m, err
}

func (w *fixture) waitTraced(t *testing.T, spans *collector, address string) {
	t.Helper()
	var sent []string
	live.Eventually(t, time.Minute, 500*time.Millisecond, func(ctx context.Context) error {
		m, err := w.mark(ctx, address, nil)
		if err != nil {
			return err
		}
		sent = append(sent, m)
		for _, m := range sent {
			if _, ok := spans.get(m); ok {
				return nil
			}
		}
		return fmt.Errorf("no span of %d requests has come", len(sent))
	})
}

func (w *fixture) checkSpan(t *testing.T, spans *collector, address string) {
	t.Helper()
	m, err := w.mark(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(context.Context) error {
		s, ok := spans.get(m)
		if !ok {
			return fmt.Errorf("the span of request %s has not come", m)
		}
		a := s.GetAttributes()
		got := []string{s.GetName(), s.service, s.key, text(a, "env"), text(a, "code"), text(a, "version"), text(a, "port"), text(a, "host")}
		if want := "edge|shop|secret|100%|number 200|1.1|number 80|" + tracedHost; strings.Join(got, "|") != want {
			return fmt.Errorf("the span has %q, want %q", got, want)
		}
		return nil
	})
}

// expectSpans waits until, of 20 requests, so many become spans. Spans are sent once in five seconds.
func (w *fixture) expectSpans(t *testing.T, spans *collector, address string, headers map[string]string, want int) {
	t.Helper()
	live.Eventually(t, 2*time.Minute, time.Millisecond, func(ctx context.Context) error {
		var sent []string
		for range 20 {
			m, err := w.mark(ctx, address, headers)
			if err != nil {
				return err
			}
			sent = append(sent, m)
		}
		// There is no event for a span that does not come.
		select {
		case <-ctx.Done():
		case <-time.After(7 * time.Second):
		}
		came := 0
		for _, m := range sent {
			if _, ok := spans.get(m); ok {
				came++
			}
		}
		if came != want {
			return fmt.Errorf("%d of 20 requests with %v became spans, want %d", came, headers, want)
		}
		return nil
	})
}
