package listener

import (
	"fmt"
	"math"

	celexpr "cel.dev/expr"
	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	samplersv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/tracers/opentelemetry/samplers/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// sampler decides which requests become spans. Envoy's own know all but one case: a decision that was made before, and of which only a part
// is to be followed.
func sampler(t *ir.Tracing) *corev3.TypedExtensionConfig {
	ratio := namedSampler("trace_id_ratio_based", &samplersv3.TraceIdRatioBasedSamplerConfig{
		SamplingPercentage: wire.Share(uint64(t.Rate.Numerator), uint64(t.Rate.Denominator)),
	})
	switch {
	case !t.FollowParent:
		return ratio
	case t.ParentRate.Whole():
		return namedSampler("parent_based", &samplersv3.ParentBasedSamplerConfig{WrappedSampler: ratio})
	default:
		return namedSampler("cel", &samplersv3.CELSamplerConfig{Expression: &xdstypev3.CelExpression{
			CelExprParsed: &celexpr.ParsedExpr{Expr: (&celTree{}).partOfParent(t)},
		}})
	}
}

func namedSampler(name string, config proto.Message) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: "envoy.tracers.opentelemetry.samplers." + name, TypedConfig: wire.Any(config)}
}

// celTree makes the tree of an expression, which Envoy does not parse here.
type celTree struct{ nodes int64 }

// partOfParent is, as people write it,
//
//	'traceparent' in request.headers
//	  ? request.headers['traceparent'].endsWith('1') && request.id < '<parent rate>'
//	  : request.id < '<rate>'
//
// The identity of a request is the proxy's, and random, so that a share of the first values it can have is that share of requests.
func (c *celTree) partOfParent(t *ir.Tracing) *celexpr.Expr {
	const parent = "traceparent"
	return c.call(nil, "_?_:_",
		c.call(nil, "@in", c.text(parent), c.request("headers")),
		c.call(nil, "_&&_",
			c.call(c.call(nil, "_[_]", c.request("headers"), c.text(parent)), "endsWith", c.text("1")),
			c.drawn(t.ParentRate)),
		c.drawn(t.Rate))
}

// drawn compares the first digits of the request's identity with where the share ends. Letters above them end the whole.
func (c *celTree) drawn(f ir.Fraction) *celexpr.Expr {
	end := "g"
	if !f.Whole() {
		end = fmt.Sprintf("%08x", uint64(f.Numerator)*(math.MaxUint32+1)/uint64(f.Denominator))
	}
	return c.call(nil, "_<_", c.request("id"), c.text(end))
}

func (c *celTree) node(e *celexpr.Expr) *celexpr.Expr {
	c.nodes++
	e.Id = c.nodes
	return e
}

func (c *celTree) call(target *celexpr.Expr, function string, args ...*celexpr.Expr) *celexpr.Expr {
	return c.node(
		&celexpr.Expr{ExprKind: &celexpr.Expr_CallExpr{CallExpr: &celexpr.Expr_Call{Target: target, Function: function, Args: args}}},
	)
}

func (c *celTree) text(value string) *celexpr.Expr {
	return c.node(&celexpr.Expr{ExprKind: &celexpr.Expr_ConstExpr{ConstExpr: &celexpr.Constant{
		ConstantKind: &celexpr.Constant_StringValue{StringValue: value},
	}}})
}

// request is a field of what Envoy knows about the request.
func (c *celTree) request(field string) *celexpr.Expr {
	name := c.node(&celexpr.Expr{ExprKind: &celexpr.Expr_IdentExpr{IdentExpr: &celexpr.Expr_Ident{Name: "request"}}})
	return c.node(&celexpr.Expr{ExprKind: &celexpr.Expr_SelectExpr{SelectExpr: &celexpr.Expr_Select{Operand: name, Field: field}}})
}
