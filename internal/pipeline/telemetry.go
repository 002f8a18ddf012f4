package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/resolve/route"
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
	byBackend = store.NewIndex(g.tracing, "tracing.byBackend", func(_ string, t *ir.Tracing) []string {
		if t == nil {
			return nil
		}
		return []string{t.Backend}
	})
	byGatewayBackend = store.NewIndex(g.tracing, "tracing.byGatewayBackend", func(key string, t *ir.Tracing) []string {
		if t == nil {
			return nil
		}
		return []string{route.BackendKey(key, t.Backend)}
	})
	return byBackend, byGatewayBackend
}
