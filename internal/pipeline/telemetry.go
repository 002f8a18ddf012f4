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

// addTelemetryStages adds the stages that weigh XTelemetryPolicies.
func (g *graph) addTelemetryStages() {
	policies := memo.Derive(g.memo, stageTelemetry, from(g.objects.TelemetryPolicies), deepEqual[policy.ResolvedTelemetry],
		func(v *store.View, key string) policy.ResolvedTelemetry { return policy.Telemetry(v, g.objects, key) })
	inputs := policy.TelemetryInputs{Objects: g.objects, Policies: policies, Gateways: g.gateways}
	g.tracing = memo.Derive(g.memo, stageTracing, from(g.gateways), deepEqual[*ir.Tracing], inputs.Tracing)
	outcomes := memo.Derive(g.memo, stageTelemetryStatus, from(g.objects.TelemetryPolicies), deepEqual[outcome.Policy], inputs.Status)
	g.addPolicies(store.XTelemetryPolicy, outcomes, stageTelemetry, stageTelemetryStatus)
}
