package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageTelemetry       = "telemetry policy"
	stageTracing         = "tracing"
	stageTelemetryStatus = "telemetry policy status"
)

// observe lists the stages that weigh XTelemetryPolicies. It returns the backends that take spans, by name and by Gateway.
func (g *graph) observe() (byBackend, byGatewayBackend store.Source) {
	policies := memo.Derive(g.memo, stageTelemetry, from(g.objects.TelemetryPolicies), deepEqual[policy.ResolvedTelemetry],
		func(v *store.View, key string) policy.ResolvedTelemetry { return policy.Telemetry(v, g.objects, key) })
	inputs := policy.TelemetryInputs{Objects: g.objects, Policies: policies, Gateways: g.gateways}
	g.tracing = memo.Derive(g.memo, stageTracing, from(g.gateways), deepEqual[*ir.Tracing], inputs.Tracing)
	g.telemetryStatus = memo.Derive(g.memo, stageTelemetryStatus, from(g.objects.TelemetryPolicies), deepEqual[outcome.Policy], inputs.Status)
	return neededBackends(g.tracing, "tracing", func(t *ir.Tracing) *ir.Needs { return ir.NeedsOf(t) })
}
