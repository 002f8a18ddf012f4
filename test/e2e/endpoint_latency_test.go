//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/live"
)

const (
	endpointChanges = 10
	// endpointLimit is generous, because the cores do other work, too: a change takes less than a tenth of a second on a quiet machine.
	endpointLimit = 5 * time.Second
)

// TestEndpointLatency moves a Service's only endpoint from one pod to another by writing its EndpointSlice, and measures from the
// moment of writing until a request is answered by the new pod. Each change must arrive; how soon is reported.
func TestEndpointLatency(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pods := w.Echo(t, "echo", 2)
	slice := live.EndpointSlice("manual", pods[0].Status.PodIP)
	w.Make(t, live.ManualService("manual"), slice)
	address := w.Gateway(t, "gateway")
	w.Route(t, "manual", "gateway", "manual.example.com", "manual")
	w.WaitServed(t, address, "manual.example.com")

	var times []time.Duration
	for i := range endpointChanges {
		times = append(times, w.MoveEndpoint(t, slice, &pods[(i+1)%len(pods)], address, "manual.example.com"))
	}
	slices.Sort(times)
	t.Logf(
		"%d endpoint changes: median %s, slowest %s", len(times), times[len(times)/2].Round(time.Millisecond),
		times[len(times)-1].Round(time.Millisecond),
	)
	if slowest := times[len(times)-1]; slowest >= endpointLimit {
		t.Errorf("the slowest change took %s, the limit is %s", slowest, endpointLimit)
	}
}
