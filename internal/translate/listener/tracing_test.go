package listener_test

import (
	"slices"
	"strings"
	"testing"

	tracev3 "github.com/envoyproxy/go-control-plane/envoy/config/trace/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tracingv3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func tracingOf(t *testing.T, tracing *ir.Tracing) *hcmv3.HttpConnectionManager_Tracing {
	t.Helper()
	if tracing != nil && tracing.Backend.IsZero() {
		tracing.Backend = named("shop/otel/4317/http2")
	}
	l := listener.Listener(ir.Name{Namespace: "infra", Name: "gw"}, ir.Port{
		Number: 80, TargetPort: 20080, Protocol: ir.HTTP, Chains: []ir.Chain{{Name: "http", RouteTable: ir.ParseTableID("infra/gw/80")}},
	}, tracing)
	prototest.Valid(t, l)
	var manager hcmv3.HttpConnectionManager
	if err := l.GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(&manager); err != nil {
		t.Fatal(err)
	}
	return manager.GetTracing()
}

func TestTracing(t *testing.T) {
	t.Parallel()
	t.Run("without a setting there are no spans", func(t *testing.T) {
		t.Parallel()
		if got := tracingOf(t, nil); got != nil {
			t.Errorf("tracing: %v", got)
		}
	})
	t.Run("spans go where they should, with their names and headers", func(t *testing.T) {
		t.Parallel()
		got := tracingOf(
			t,
			&ir.Tracing{
				Backend: named("shop/otel/4317/http2"),
				Service: "shop",
				Span:    "edge",
				Headers: []ir.Header{{Name: "authorization", Value: "secret"}},
			},
		)
		var config tracev3.OpenTelemetryConfig
		if err := got.GetProvider().GetTypedConfig().UnmarshalTo(&config); err != nil {
			t.Fatal(err)
		}
		grpc := config.GetGrpcService()
		if got.GetOperation() != "edge" || config.GetServiceName() != "shop" || grpc.GetEnvoyGrpc().GetClusterName() != "shop/otel/4317/http2" ||
			grpc.GetInitialMetadata()[0].GetKey() != "authorization" {
			t.Errorf("tracing: %v, %v", got, &config)
		}
	})
	t.Run("every key has a value", func(t *testing.T) {
		t.Parallel()
		for _, key := range append(slices.Clone(ir.SpanKeys), ir.RequestHeaderKey+"x", ir.ResponseHeaderKey+"x") {
			tags := tracingOf(t, &ir.Tracing{Attributes: []ir.SpanAttribute{{Name: "a", Key: key}}}).GetCustomTags()
			if tags[0].GetValue() == "" {
				t.Errorf("%s: %v", key, tags)
			}
		}
	})
	t.Run("numbers are numbers, and what people write is taken as it is", func(t *testing.T) {
		t.Parallel()
		tags := tracingOf(t, &ir.Tracing{Attributes: []ir.SpanAttribute{
			{
				Name: "code",
				Key:  "http.response.status_code",
			},
			{Name: "env", Literal: "100%"},
			{Name: "who", Header: "x-user"},
			{Name: "port", Key: "server.port"},
		}}).GetCustomTags()
		if tags[0].GetValueType() != tracingv3.CustomTag_INT || tags[1].GetLiteral().GetValue() != "100%" ||
			tags[2].GetRequestHeader().GetName() != "x-user" {
			t.Errorf("tags: %v", tags)
		}
		if tags[3].GetValue() != "80" {
			t.Errorf("the port that clients know is %s", tags[3].GetValue())
		}
	})
}

func TestSampler(t *testing.T) {
	t.Parallel()
	half, whole := ir.Fraction{Numerator: 1, Denominator: 2}, ir.Fraction{Numerator: 1, Denominator: 1}
	for name, c := range map[string]struct {
		tracing ir.Tracing
		want    []string
	}{
		"a parent that does not count":      {ir.Tracing{Rate: half}, []string{"trace_id_ratio_based", `"numerator":50`}},
		"a parent that decides":             {ir.Tracing{Rate: half, FollowParent: true, ParentRate: whole}, []string{"parent_based", "trace_id_ratio_based", `"numerator":50`}},
		"a parent that is followed in part": {ir.Tracing{Rate: whole, FollowParent: true, ParentRate: half}, []string{"samplers.cel", `"80000000"`, `"g"`, "traceparent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var config tracev3.OpenTelemetryConfig
			if err := tracingOf(t, &c.tracing).GetProvider().GetTypedConfig().UnmarshalTo(&config); err != nil {
				t.Fatal(err)
			}
			text, err := protojson.Marshal(config.GetSampler())
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(string(text), " ", "")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s is not in %s", want, got)
				}
			}
		})
	}
}
