package bootstrap

import (
	"time"

	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	injectedv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/injected_resource/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// minConnectionAge is the maximum duration of a connection when all are to be closed.
	minConnectionAge = time.Second
	injectedMonitor  = "envoy.resource_monitors.injected_resource"
)

// overloadManager drains connections at the end of a proxy, and sheds load before it runs out of memory.
func overloadManager(gateway ir.Gateway, options Options) (*overloadv3.OverloadManager, error) {
	manager := &overloadv3.OverloadManager{RefreshInterval: durationpb.New(250 * time.Millisecond)}
	if options.DrainHelper {
		if err := addDrain(manager); err != nil {
			return nil, err
		}
	}
	if err := addConnectionLimit(manager, gateway.Fleet.Proxies.Connections); err != nil {
		return nil, err
	}
	return manager, addShedding(manager, options.MemoryLimit)
}

// addDrain lets a file close all connections in order: it shortens their maximum duration. HTTP/2 connections then get GOAWAY, idle or
// not, and HTTP/1.1 ones close after the next response. Envoy's own draining does not reach idle connections.
func addDrain(manager *overloadv3.OverloadManager) error {
	timer := &overloadv3.ScaleTimersOverloadActionConfig_ScaleTimer{
		Timer:          overloadv3.ScaleTimersOverloadActionConfig_HTTP_DOWNSTREAM_CONNECTION_MAX,
		OverloadAdjust: &overloadv3.ScaleTimersOverloadActionConfig_ScaleTimer_MinTimeout{MinTimeout: durationpb.New(minConnectionAge)},
	}
	timers, err := pack(&overloadv3.ScaleTimersOverloadActionConfig{
		TimerScaleFactors: []*overloadv3.ScaleTimersOverloadActionConfig_ScaleTimer{timer},
	})
	if err != nil {
		return err
	}
	manager.Actions = append(manager.Actions, &overloadv3.OverloadAction{
		Name: "envoy.overload_actions.reduce_timeouts",
		Triggers: []*overloadv3.Trigger{{Name: injectedMonitor, TriggerOneof: &overloadv3.Trigger_Scaled{
			Scaled: &overloadv3.ScaledTrigger{ScalingThreshold: 0.1, SaturationThreshold: 0.9},
		}}},
		TypedConfig: timers,
	})
	return addMonitor(manager, injectedMonitor, &injectedv3.InjectedResourceConfig{Filename: PressureFile})
}

func addMonitor(manager *overloadv3.OverloadManager, name string, config proto.Message) error {
	packed, err := pack(config)
	if err != nil {
		return err
	}
	manager.ResourceMonitors = append(manager.ResourceMonitors, &overloadv3.ResourceMonitor{
		Name: name, ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: packed},
	})
	return nil
}
