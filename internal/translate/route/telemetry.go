package route

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tracingv3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// telemetry says what is recorded of the requests of a route.
func telemetry(r *routev3.Route, rule *ir.Rule, p *ir.RequestPolicy) {
	if p.StatPrefix != "" {
		r.StatPrefix = statPrefix(p.StatPrefix, rule.Name)
	}
	t := p.Tracing
	if t == nil {
		return
	}
	r.Tracing = &routev3.Tracing{
		ClientSampling: share(t.ClientSampling), RandomSampling: share(t.Sampling), OverallSampling: share(t.OverallSampling),
		Operation: t.ServerSpan, UpstreamOperation: t.ClientSpan,
	}
	for _, a := range t.Attributes {
		r.Tracing.CustomTags = append(r.Tracing.CustomTags, customTag(a))
	}
}

// statPrefix fills in the variables, from the name of a rule: `<kind>/<namespace>/<name>/...`.
func statPrefix(name, rule string) string {
	const parts = 4
	of := strings.SplitN(rule, "/", parts)
	if len(of) < parts {
		return name
	}
	return strings.NewReplacer(
		ir.StatRouteKind, strings.ToLower(of[0]), ir.StatRouteNamespace, of[1], ir.StatRouteName, of[2],
	).Replace(name)
}

// share is nil for what the listener has.
func share(f *ir.Fraction) *typev3.FractionalPercent {
	if f == nil {
		return nil
	}
	return wire.Share(uint64(f.Numerator), uint64(f.Denominator))
}

func customTag(a ir.RouteAttribute) *tracingv3.CustomTag {
	tag := &tracingv3.CustomTag{Tag: a.Name}
	switch {
	case a.Format != "":
		tag.Type = &tracingv3.CustomTag_Value{Value: a.Format}
	case a.Header != "":
		tag.Type = &tracingv3.CustomTag_RequestHeader{RequestHeader: &tracingv3.CustomTag_Header{Name: a.Header, DefaultValue: a.Default}}
	default:
		tag.Type = &tracingv3.CustomTag_Literal_{Literal: &tracingv3.CustomTag_Literal{Value: a.Literal}}
	}
	return tag
}

// upgrades are the protocols that a connection may change to, beside WebSockets, which every listener has.
func upgrades(types []string) []*routev3.RouteAction_UpgradeConfig {
	var list []*routev3.RouteAction_UpgradeConfig
	for _, name := range types {
		list = append(list, &routev3.RouteAction_UpgradeConfig{UpgradeType: name, Enabled: wrapperspb.Bool(true)})
	}
	return list
}
