package bootstrap

import (
	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	connectionsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	heapv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/fixed_heap/v3"
)

const (
	heapMonitor        = "envoy.resource_monitors.fixed_heap"
	connectionsMonitor = "envoy.resource_monitors.global_downstream_max_connections"

	// defaultConnections is the limit of downstream connections of a proxy, as in Envoy's guide for edge proxies.
	defaultConnections = 50_000
	// Envoy resets the streams that hold the most memory between these shares of the heap, the largest first. To stop requests alone
	// frees nothing: clients that do not read hold what is buffered for them, up to a window for each stream. Envoy resets 50 streams in
	// each thread whenever the share has changed, and none while it stays above the second; so the two are apart.
	resetFrom, resetAll = 0.88, 0.98
	resetAction         = "envoy.overload_actions.reset_high_memory_stream"
	// resetPower divides streams into eight classes by the memory that they hold: from 2^15 bytes (Envoy subtracts one power) to 2^22. A
	// stream that holds a whole window is in the fourth, which is reset from 93% of the heap.
	resetPower = 16
	// nonHeapReserve is the least memory for what is not on the heap: stacks, socket buffers, and the program that drains the proxy.
	nonHeapReserve = 32 << 20
)

// shedding lists the overload actions by the share of the heap that triggers them, from mild to harsh: free memory is released,
// connections close after the next response, requests get 503, connections are closed at once. The last two are apart, so that clients
// get a response before they are disconnected.
var shedding = []struct {
	share  float64
	action string
}{
	{0.80, "envoy.overload_actions.shrink_heap"},
	{0.85, "envoy.overload_actions.disable_http_keepalive"},
	{0.90, "envoy.overload_actions.stop_accepting_requests"},
	{0.98, "envoy.overload_actions.reject_incoming_connections"},
}

// addConnectionLimit limits the downstream connections of a proxy; nil means [defaultConnections].
func addConnectionLimit(manager *overloadv3.OverloadManager, limit *int64) error {
	connections := int64(defaultConnections)
	if limit != nil {
		connections = *limit
	}
	return addMonitor(manager, connectionsMonitor, &connectionsv3.DownstreamConnectionsConfig{MaxActiveDownstreamConnections: connections})
}

// addShedding sheds load before the kernel ends the proxy for its memory.
func addShedding(manager *overloadv3.OverloadManager, memoryLimit int64) error {
	heap := maxHeap(memoryLimit)
	if heap == 0 {
		return nil
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
	return addMonitor(manager, heapMonitor, &heapv3.FixedHeapConfig{MaxHeapSizeBytes: heap})
}

// maxHeap is the heap size for a limit of memory; zero without a limit.
func maxHeap(limit int64) uint64 {
	if limit <= 0 {
		return 0
	}
	return uint64(max(limit-max(limit/10, nonHeapReserve), limit/2))
}
