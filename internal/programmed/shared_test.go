package programmed

import (
	"testing"
	"testing/synctest"
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
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t)
		group := xds.GroupID(sharedFleet)
		r.Reach(map[xds.GroupID]string{
			group: "1", {Namespace: "shop", Name: "one"}: "own", {Namespace: "shop", Name: "two"}: "own",
		}, time.Now())
		r.Fleet(ir.Gateway{Name: sharedFleet}, "system/shared")
		r.Fleet(tenantOf("shop/one"), "shop/one")
		r.Endpoints("shop/one-slice", sliceOf("one", "a"))
		r.SetRoute(store.HTTPRoute, "r1", routeAt("shop/one"))
		l.expect(t, "r1", "Unsettled/Pending")
		proxy := xds.Identity{Group: group, Pod: "a"}
		r.Connected(proxy)
		r.Holds(proxy, "1")
		synctest.Wait()
		l.expect(t, "r1", "True/Programmed")

		// Another one comes. The proxies have all it needs before its Service leads to them.
		r.Reach(map[xds.GroupID]string{group: "2"}, time.Now())
		r.Fleet(tenantOf("shop/two"), "shop/two")
		r.SetRoute(store.HTTPRoute, "r2", routeAt("shop/two"))
		r.Holds(proxy, "2")
		synctest.Wait()
		l.expect(t, "r2", "Unsettled/Pending")
		r.Endpoints("shop/two-slice", sliceOf("two", "a"))
		l.expect(t, "r2", "True/Programmed")

		// The first goes; what is said of the second goes on.
		r.Fleet(ir.Gateway{Name: ir.ParseName("shop/one")}, "")
		r.Endpoints("shop/one-slice", nil)
		r.Reach(map[xds.GroupID]string{group: "3"}, time.Now())
		r.SetRoute(store.HTTPRoute, "r2", routeAt("shop/two"))
		l.expect(t, "r2", "Unsettled/Pending")
		r.Holds(proxy, "3")
		synctest.Wait()
		l.expect(t, "r2", "True/Programmed")
	})
}

func TestAGatewayThatComesToShareProxiesWaitsForThese(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "own")
		r.Connected(pod("own"))
		r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
		r.SetRoute(store.HTTPRoute, "r", routeAt(web))
		r.Holds(pod("own"), "1")
		synctest.Wait()
		l.expect(t, "r", "True/Programmed")

		r.Reach(map[xds.GroupID]string{xds.GroupID(sharedFleet): "1"}, time.Now())
		r.Fleet(tenantOf(web), "system/web")
		l.expect(t, "r", "Unsettled/Pending")
		r.Endpoints("system/web-slice", sliceOf("web", "a"))
		proxy := xds.Identity{Group: xds.GroupID(sharedFleet), Pod: "a"}
		r.Connected(proxy)
		r.Holds(proxy, "1")
		synctest.Wait()
		l.expect(t, "r", "True/Programmed")

		// And back.
		r.Reach(map[xds.GroupID]string{webGroup: "2"}, time.Now())
		r.Fleet(ir.Gateway{Name: ir.ParseName(web)}, service)
		l.expect(t, "r", "Unsettled/Pending")
		r.Holds(pod("own"), "2")
		synctest.Wait()
		l.expect(t, "r", "True/Programmed")
	})
}
