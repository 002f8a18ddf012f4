package render

import (
	"time"

	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	connectionsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	heapv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/fixed_heap/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
)

const (
	heapMonitor        = "envoy.resource_monitors.fixed_heap"
	connectionsMonitor = "envoy.resource_monitors.global_downstream_max_connections"

	// defaultConnections is how many clients a proxy holds at a time, as Envoy's guide for edge proxies has it.
	defaultConnections = 50_000
	// The streams that hold the most memory are reset between these shares of the heap, the largest first. Stopping requests alone
	// frees nothing: clients that do not read hold what is buffered for them, up to a window for each stream. Envoy resets 50 in each
	// thread whenever the share has changed, and none while it stays above the second; so there is room between the two.
	resetFrom, resetAll = 0.88, 0.98
	resetAction         = "envoy.overload_actions.reset_high_memory_stream"
	// resetPower divides streams into eight classes by what they hold: from 2^15 bytes, which is one power less by Envoy's reckoning,
	// to 2^22. A stream that holds a whole window is in the fourth, which is reset from 93% of the heap.
	resetPower = 16
	// beside is the least that a proxy has for what is not on its heap: stacks, sockets' buffers, and the program that drains it.
	beside = 32 << 20
)

// shedding is what happens at which share of the heap that a proxy may have, from mild to harsh: memory that is free is given back,
// connections close after the next answer, requests are answered 503, connections are closed at once. The last two are apart, so that
// clients are told before they are cut off.
var shedding = []struct {
	share  float64
	action string
}{
	{0.80, "envoy.overload_actions.shrink_heap"},
	{0.85, "envoy.overload_actions.disable_http_keepalive"},
	{0.90, "envoy.overload_actions.stop_accepting_requests"},
	{0.98, "envoy.overload_actions.reject_incoming_connections"},
}

// protect has a proxy shed load before the kernel ends it for its memory, and hold no more clients than it should. The manager may be nil.
func protect(manager *overloadv3.OverloadManager, gateway ir.Gateway) (*overloadv3.OverloadManager, error) {
	if manager == nil {
		manager = &overloadv3.OverloadManager{RefreshInterval: durationpb.New(250 * time.Millisecond)}
	}
	connections := int64(defaultConnections)
	if wanted := gateway.Fleet.Proxies.Connections; wanted != nil {
		connections = *wanted
	}
	if err := watch(manager, connectionsMonitor, &connectionsv3.DownstreamConnectionsConfig{MaxActiveDownstreamConnections: connections}); err != nil {
		return nil, err
	}
	heap := maxHeap(resourcesOf(gateway).MemoryLimit)
	if heap == 0 {
		return manager, nil
	}
	for _, step := range shedding {
		manager.Actions = append(manager.Actions, &overloadv3.OverloadAction{Name: step.action, Triggers: []*overloadv3.Trigger{{
			Name: heapMonitor, TriggerOneof: &overloadv3.Trigger_Threshold{Threshold: &overloadv3.ThresholdTrigger{Value: step.share}},
		}}})
	}
	manager.Actions = append(manager.Actions, &overloadv3.OverloadAction{Name: resetAction, Triggers: []*overloadv3.Trigger{{
		Name: heapMonitor, TriggerOneof: &overloadv3.Trigger_Scaled{
			Scaled: &overloadv3.ScaledTrigger{ScalingThreshold: resetFrom, SaturationThreshold: resetAll},
		},
	}}})
	manager.BufferFactoryConfig = &overloadv3.BufferFactoryConfig{MinimumAccountToTrackPowerOfTwo: resetPower}
	return manager, watch(manager, heapMonitor, &heapv3.FixedHeapConfig{MaxHeapSizeBytes: heap})
}

func watch(manager *overloadv3.OverloadManager, name string, config proto.Message) error {
	packed, err := pack(config)
	if err != nil {
		return err
	}
	manager.ResourceMonitors = append(manager.ResourceMonitors, &overloadv3.ResourceMonitor{
		Name: name, ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: packed},
	})
	return nil
}

// maxHeap is how much of its memory a proxy may have on its heap; zero without a limit.
func maxHeap(limit int64) uint64 {
	if limit <= 0 {
		return 0
	}
	return uint64(max(limit-max(limit/10, beside), limit/2))
}
