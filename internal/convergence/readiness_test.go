package convergence

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/costtest"
	"github.com/gatewright/gatewright/internal/ir"
)

// many returns a tracker of many fleets with a ready proxy each.
func many(fleets int) *Tracker {
	k := New(prometheus.NewRegistry())
	for i := range fleets {
		name := ir.Name{Namespace: "shop", Name: fmt.Sprint("gateway-", i)}
		k.Fleet(ir.Gateway{Name: name}, name.String())
		own := slice("pod")
		own.Labels[discoveryv1.LabelServiceName] = name.Name
		k.Endpoints(name.String(), own)
	}
	return k
}

// foreign is a slice of no fleet.
func foreign() *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "backend", Labels: map[string]string{discoveryv1.LabelServiceName: "backend"},
	}}
}

func TestASliceOfNoFleetCostsTheSameHoweverManyFleetsThereAre(t *testing.T) {
	t.Parallel()
	few, many, slice := many(10), many(20_000), foreign()
	// A walk through all fleets would take two thousand times as long.
	costtest.ExpectSame(t, func() { few.Endpoints("shop/backend", slice) }, func() { many.Endpoints("shop/backend", slice) })
}

func TestASliceThatChangesItsService(t *testing.T) {
	t.Parallel()
	k := many(2)
	touched := func() int { return len(k.sessions.takeChanged()) }
	touched()
	moved := slice("pod", "another")
	moved.Labels[discoveryv1.LabelServiceName] = "gateway-1"
	k.Endpoints("shop/gateway-0", moved)
	if got := touched(); got != 2 {
		t.Errorf("%d Gateways are looked at again, want both", got)
	}
	if before, after := k.ready.pods("shop/gateway-0"), k.ready.pods("shop/gateway-1"); len(before) != 0 || len(after) != 2 {
		t.Errorf("one has %v, the other %v", before, after)
	}
	k.Endpoints("shop/gateway-0", nil)
	k.Endpoints("shop/gateway-1", foreign())
	if len(k.ready.slices)+len(k.ready.services) != 0 {
		t.Errorf("it keeps %v and %v", k.ready.slices, k.ready.services)
	}
	touched()
	k.Fleet(ir.Gateway{Name: ir.ParseName("shop/gateway-0")}, "shop/elsewhere")
	k.Fleet(ir.Gateway{Name: ir.ParseName("shop/gateway-1")}, "")
	k.Endpoints("shop/gateway-0", moved)
	if got := touched(); got != 0 || len(k.byService.gateways) != 1 || len(k.byService.services) != 1 {
		t.Errorf("%d are looked at again, and there are %v", got, k.byService)
	}
}

func BenchmarkASliceOfNoFleet(b *testing.B) {
	for _, fleets := range []int{10, 10_000} {
		b.Run(fmt.Sprint(fleets, " fleets"), func(b *testing.B) {
			k, slice := many(fleets), foreign()
			for b.Loop() {
				k.Endpoints("shop/backend", slice)
			}
		})
	}
}
