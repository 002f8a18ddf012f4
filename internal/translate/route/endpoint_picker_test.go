package route_test

import (
	"slices"
	"testing"
	"time"

	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

// pickerOf is the endpoint picker that per-route configuration asks, nil for none.
func pickerOf(t *testing.T, configs map[string]*anypb.Any) *extprocv3.ExternalProcessor {
	t.Helper()
	config, ok := configs[filter.EndpointPicker]
	if !ok {
		return nil
	}
	var composite compositev3.CompositePerRoute
	if err := config.UnmarshalTo(&composite); err != nil {
		t.Fatal(err)
	}
	var action compositev3.ExecuteFilterAction
	if err := composite.GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig().UnmarshalTo(&action); err != nil {
		t.Fatal(err)
	}
	chain := action.GetFilterChain().GetTypedConfig()
	var edit headermutationv3.HeaderMutation
	if err := chain[0].GetTypedConfig().UnmarshalTo(&edit); err != nil {
		t.Fatal(err)
	}
	if edit.GetMutations().GetRequestMutations()[0].GetRemove() != "x-gateway-destination-endpoint" {
		t.Errorf("a client may name an endpoint: %v", &edit)
	}
	picker := &extprocv3.ExternalProcessor{}
	if err := chain[1].GetTypedConfig().UnmarshalTo(picker); err != nil {
		t.Fatal(err)
	}
	return picker
}

// TestRetriesOfPickedPools: where only pickers choose, a request is sent once unless retries are configured.
func TestRetriesOfPickedPools(t *testing.T) {
	t.Parallel()
	service := ir.WeightedBackend{Backend: ir.Backend{Object: ir.Name{Namespace: "shop", Name: "v1"}, Port: 80}, Weight: 1}
	unused := service
	unused.Weight = 0
	timeout := time.Second
	for name, c := range map[string]struct {
		backends []ir.WeightedBackend
		policy   *ir.RequestPolicy
		retries  int
	}{
		"pools that fail closed":     {[]ir.WeightedBackend{pooled("a", false), pooled("b", false)}, nil, 0},
		"beside a backend of no use": {[]ir.WeightedBackend{pooled("a", false), unused}, nil, 0},
		"a timeout of tries": {
			[]ir.WeightedBackend{pooled("a", false)}, &ir.RequestPolicy{RequestTimeout: &timeout, BackendTimeout: &timeout}, 0,
		},
		"retries of the rule":    {[]ir.WeightedBackend{pooled("a", false)}, &ir.RequestPolicy{Retry: &ir.Retry{Attempts: 3}}, 3},
		"a pool that fails open": {[]ir.WeightedBackend{pooled("a", true)}, nil, -1},
		"beside a Service":       {[]ir.WeightedBackend{pooled("a", false), service}, nil, -1},
	} {
		host, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{{
			Forward: &ir.Forward{Backends: c.backends}, Policy: c.policy,
		}}})
		own := host.GetRoutes()[0].GetRoute().GetRetryPolicy()
		if (own == nil) != (c.retries < 0) || own != nil && int(own.GetNumRetries().GetValue()) != c.retries {
			t.Errorf("%s: %v, want %d retries", name, own, c.retries)
		}
	}
}

func pooled(name string, failOpen bool) ir.WeightedBackend {
	return ir.WeightedBackend{
		Backend: ir.Backend{Kind: ir.KindInferencePool, Object: ir.Name{Namespace: "shop", Name: name}, Protocol: ir.BackendHTTP1}, Weight: 1,
		Picker: &ir.EndpointPicker{FailOpen: failOpen, Backend: ir.Backend{
			Object: ir.Name{Namespace: "shop", Name: name + "-picker"}, Port: 9002, Protocol: ir.BackendPicker,
		}},
	}
}

// TestEndpointPickers: each pool of a rule asks its own picker, and a Service asks none.
func TestEndpointPickers(t *testing.T) {
	t.Parallel()
	host, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{{Forward: &ir.Forward{
		Backends: []ir.WeightedBackend{pooled("a", false), pooled("b", true), {Backend: svc("c"), Weight: 1}},
	}}}})
	prototest.Valid(t, host)
	r := host.GetRoutes()[0]
	shares := r.GetRoute().GetWeightedClusters().GetClusters()
	a, b := pickerOf(t, shares[0].GetTypedPerFilterConfig()), pickerOf(t, shares[1].GetTypedPerFilterConfig())
	if a.GetGrpcService().GetEnvoyGrpc().GetClusterName() != "shop/a-picker/9002/picker" || a.GetFailureModeAllow() ||
		b.GetGrpcService().GetEnvoyGrpc().GetClusterName() != "shop/b-picker/9002/picker" || !b.GetFailureModeAllow() {
		t.Errorf("pickers: %v and %v", a, b)
	}
	if pickerOf(t, shares[2].GetTypedPerFilterConfig()) != nil || pickerOf(t, r.GetTypedPerFilterConfig()) != nil {
		t.Errorf("route: %v", r)
	}
	if host.GetTypedPerFilterConfig()[filter.EndpointPicker] == nil {
		t.Error("the virtual host does not enable the filter")
	}
}

// TestEndpointPicker sees all of a request and its response, and chooses no other route.
func TestEndpointPicker(t *testing.T) {
	t.Parallel()
	r := only(t, ir.Rule{Forward: &ir.Forward{Backends: []ir.WeightedBackend{pooled("a", false)}}})
	p := pickerOf(t, r.GetTypedPerFilterConfig())
	prototest.Valid(t, p)
	want := &extprocv3.ProcessingMode{
		RequestHeaderMode: extprocv3.ProcessingMode_SEND, ResponseHeaderMode: extprocv3.ProcessingMode_SEND,
		RequestBodyMode: extprocv3.ProcessingMode_FULL_DUPLEX_STREAMED, ResponseBodyMode: extprocv3.ProcessingMode_FULL_DUPLEX_STREAMED,
		RequestTrailerMode: extprocv3.ProcessingMode_SEND, ResponseTrailerMode: extprocv3.ProcessingMode_SEND,
	}
	if !proto.Equal(p.GetProcessingMode(), want) {
		t.Errorf("mode: %v", p.GetProcessingMode())
	}
	if p.GetRouteCacheAction() != extprocv3.ExternalProcessor_RETAIN || p.GetStatusOnError().GetCode() != 503 {
		t.Errorf("picker: %v", p)
	}
	metadata := p.GetMetadataOptions()
	if got := metadata.GetReceivingNamespaces().GetUntyped(); !slices.Equal(got, []string{"envoy.lb"}) {
		t.Errorf("the picker writes %v", got)
	}
	if got := metadata.GetForwardingNamespaces().GetUntyped(); !slices.Equal(got, []string{"envoy.lb", "envoy.lb.subset_hint"}) {
		t.Errorf("the picker reads %v", got)
	}
}
