package proof

import (
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

var sharedFleet = ir.SharedFleet("c")

// tenantOf is a Gateway that shares its proxies.
func tenantOf(name string) ir.Gateway {
	return ir.Gateway{Name: ir.ParseName(name), Fleet: ir.Fleet{Shared: sharedFleet}}
}

func sliceOf(service string, ready ...string) *discoveryv1.EndpointSlice {
	s := slice(ready...)
	s.Labels[discoveryv1.LabelServiceName] = service
	return s
}

func routeAt(gateway string) outcome.Route {
	return outcome.Route{Parents: []outcome.Parent{{Gateway: gateway}, {}}}
}

func TestGatewaysThatShareProxiesWaitForThese(t *testing.T) {
	t.Parallel()
	k, l := keeper(t)
	group := sharedFleet.String()
	k.Reach(map[string]string{group: "1", "shop/one": "own", "shop/two": "own"}, time.Now())
	k.Fleet(ir.Gateway{Name: sharedFleet}, "system/shared")
	k.Fleet(tenantOf("shop/one"), "shop/one")
	k.Endpoints("shop/one-slice", sliceOf("one", "a"))
	k.SetRoute(store.HTTPRoute, "r1", routeAt("shop/one"))
	l.expect(t, "r1", "Unsettled/Pending")
	proxy := xds.Identity{Gateway: group, Pod: "a"}
	k.Connected(proxy)
	k.Holds(proxy, "1")
	k.follow()
	l.expect(t, "r1", "True/Programmed")

	// Another one comes. The proxies have all it needs before its Service leads to them.
	k.Reach(map[string]string{group: "2"}, time.Now())
	k.Fleet(tenantOf("shop/two"), "shop/two")
	k.SetRoute(store.HTTPRoute, "r2", routeAt("shop/two"))
	k.Holds(proxy, "2")
	k.follow()
	l.expect(t, "r2", "Unsettled/Pending")
	k.Endpoints("shop/two-slice", sliceOf("two", "a"))
	l.expect(t, "r2", "True/Programmed")

	// The first goes; what is said of the second goes on.
	k.Fleet(ir.Gateway{Name: ir.ParseName("shop/one")}, "")
	k.Endpoints("shop/one-slice", nil)
	k.Reach(map[string]string{group: "3"}, time.Now())
	k.SetRoute(store.HTTPRoute, "r2", routeAt("shop/two"))
	l.expect(t, "r2", "Unsettled/Pending")
	k.Holds(proxy, "3")
	k.follow()
	l.expect(t, "r2", "True/Programmed")
}

func TestAGatewayThatComesToShareProxiesWaitsForThese(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "own")
	k.Connected(pod("own"))
	k.Reach(map[string]string{web: "1"}, time.Now())
	k.SetRoute(store.HTTPRoute, "r", routeAt(web))
	k.Holds(pod("own"), "1")
	k.follow()
	l.expect(t, "r", "True/Programmed")

	k.Reach(map[string]string{sharedFleet.String(): "1"}, time.Now())
	k.Fleet(tenantOf(web), "system/web")
	l.expect(t, "r", "Unsettled/Pending")
	k.Endpoints("system/web-slice", sliceOf("web", "a"))
	proxy := xds.Identity{Gateway: sharedFleet.String(), Pod: "a"}
	k.Connected(proxy)
	k.Holds(proxy, "1")
	k.follow()
	l.expect(t, "r", "True/Programmed")

	// And back.
	k.Reach(map[string]string{web: "2"}, time.Now())
	k.Fleet(ir.Gateway{Name: ir.ParseName(web)}, service)
	l.expect(t, "r", "Unsettled/Pending")
	k.Holds(pod("own"), "2")
	k.follow()
	l.expect(t, "r", "True/Programmed")
}
