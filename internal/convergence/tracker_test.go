package convergence

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	web     = "shop/web"
	service = "shop/web-gatewright"
)

func slice(ready ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "slice",
		Labels: map[string]string{gatewayLabel: "web", discoveryv1.LabelServiceName: "web-gatewright"},
	}}
	for _, pod := range ready {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			TargetRef: &corev1.ObjectReference{Name: pod}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		})
	}
	return s
}

func TestProgressNamesTheProxiesThatALateObjectWaitsFor(t *testing.T) {
	t.Parallel()
	tracker := New(prometheus.NewRegistry())
	var changed []Object
	tracker.OnChange(func(o Object) { changed = append(changed, o) })
	tracker.Fleet(ir.Gateway{Name: ir.ParseName(web)}, service)
	tracker.Endpoints("shop/slice", slice("a", "b"))
	tracker.Reach(map[xds.GroupID]string{ownGroup(web): "1"}, time.Now().Add(-2*lateAfter))
	route := Object{store.HTTPRoute, "shop/r"}
	tracker.Track(route, []string{web})
	proxy := xds.Identity{Group: ownGroup(web), Pod: "a"}
	tracker.Connected(proxy)
	tracker.Holds(proxy, "1")
	tracker.update(tracker.follow)
	tracker.update(tracker.checkLate)
	p := tracker.Progress(route, web)
	if !p.Waiting || !p.Late || p.Pods != 2 || !slices.Equal(p.Behind, []string{"b"}) || tracker.Converged(route, web) {
		t.Errorf("it is at %+v", p)
	}
	if age := tracker.oldest(); age < 100 {
		t.Errorf("the oldest change is %v seconds old", age)
	}
	tracker.Endpoints("shop/slice", slice("a"))
	tracker.update(tracker.follow)
	if p := tracker.Progress(route, web); p.Waiting || !tracker.Converged(route, web) {
		t.Errorf("it is at %+v", p)
	}
	if !slices.Equal(changed, []Object{route, route}) {
		t.Errorf("%v have changed", changed)
	}
}

func TestNothingIsKeptOfAForgottenFleet(t *testing.T) {
	t.Parallel()
	tracker := New(prometheus.NewRegistry())
	tracker.Fleet(ir.Gateway{Name: ir.ParseName(web)}, service)
	tracker.Track(Object{store.Gateway, web}, []string{web})
	tracker.ReportFleetError(ir.ParseName(web), errors.New("quota exceeded"))
	if got := tracker.Progress(Object{store.Gateway, web}, web).FleetError; got != "quota exceeded" {
		t.Errorf("the error is %q", got)
	}
	tracker.Forget(Object{store.Gateway, web})
	tracker.Fleet(ir.Gateway{Name: ir.ParseName(web)}, "")
	if len(tracker.objects)+len(tracker.groups)+len(tracker.fleetErrors) > 0 {
		t.Errorf("it keeps %v, %v and %v", tracker.objects, tracker.groups, tracker.fleetErrors)
	}
}
