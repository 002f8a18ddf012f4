package render

import (
	"time"

	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	injectedv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/injected_resource/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// minConnectionAge is the age from which connections go when all are to go.
	minConnectionAge = time.Second
	injectedMonitor  = "envoy.resource_monitors.injected_resource"
)

// overload lets a file tell Envoy to send all connections away in order: it shortens their longest life, upon which HTTP/2 ones are told to go before
// they are closed, idle or not, and HTTP/1.1 ones with their next answer. Draining alone does not reach idle ones, for it speaks with answers only.
func overload(settings Settings) (*overloadv3.OverloadManager, error) {
	if settings.Helper == "" {
		return nil, nil //nolint:nilnil // nothing to manage
	}
	monitor, err := pack(&injectedv3.InjectedResourceConfig{Filename: pressureFile})
	if err != nil {
		return nil, err
	}
	timers, err := pack(&overloadv3.ScaleTimersOverloadActionConfig{TimerScaleFactors: []*overloadv3.ScaleTimersOverloadActionConfig_ScaleTimer{{
		Timer:          overloadv3.ScaleTimersOverloadActionConfig_HTTP_DOWNSTREAM_CONNECTION_MAX,
		OverloadAdjust: &overloadv3.ScaleTimersOverloadActionConfig_ScaleTimer_MinTimeout{MinTimeout: durationpb.New(minConnectionAge)},
	}}})
	if err != nil {
		return nil, err
	}
	return &overloadv3.OverloadManager{
		RefreshInterval:  durationpb.New(250 * time.Millisecond),
		ResourceMonitors: []*overloadv3.ResourceMonitor{{Name: injectedMonitor, ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: monitor}}},
		Actions: []*overloadv3.OverloadAction{{
			Name: "envoy.overload_actions.reduce_timeouts",
			Triggers: []*overloadv3.Trigger{{Name: injectedMonitor, TriggerOneof: &overloadv3.Trigger_Scaled{
				Scaled: &overloadv3.ScaledTrigger{ScalingThreshold: 0.1, SaturationThreshold: 0.9},
			}}},
			TypedConfig: timers,
		}},
	}, nil
}
