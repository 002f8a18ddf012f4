package xds_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/xds"
)

// hostTo is a host with one route to each of these clusters.
func hostTo(t testing.TB, domain string, clusters ...string) xds.Change {
	message := &routev3.VirtualHost{Name: domain, Domains: []string{domain}}
	for _, name := range clusters {
		message.Routes = append(message.Routes, &routev3.Route{
			Name:   "HTTPRoute/shop/" + name + "/0",
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name}}},
		})
	}
	return xds.Change{Group: group, Type: xds.VirtualHost, Table: "t1", Name: domain, Resource: resource(t, message)}
}

// routed is a proxy whose host a.example leads to c1.
func routed(t *testing.T, j journal) (*control, *proxy) {
	t.Helper()
	c, p := scoped(t, j)
	state := c.cache.Apply([]xds.Change{hostTo(t, "a.example", "c1")})[group]
	p.expect(scopeURL, []string{"t1|a.example"}, nil)
	j.expect(t, "holds "+state)
	return c, p
}

const refusedC2 = "Error adding/updating cluster(s) c2: no such thing"

func TestARouteStaysAsItIsIfItsNewClusterIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := routed(t, j)
		edit := []xds.Change{
			cluster(t, group, "c2", ""), hostTo(t, "a.example", "c1", "c2"), host(t, "b.example", ""), removed(cluster(t, group, "c1", "")),
		}
		c.cache.Apply(edit)
		p.refuse(p.receive(), refusedC2)
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		j.expect(t, "refused cluster  c2 []: no such thing",
			"refused virtual_host t1 a.example [HTTPRoute/shop/c2/0]: backend c2: no such thing")
		// Another edit of the same host waits, and is reported with its own version. Those of other hosts go on.
		c.cache.Apply([]xds.Change{hostTo(t, "a.example", "c2"), host(t, "d.example", "")})
		p.expect(scopeURL, []string{"t1|d.example"}, nil)
		j.expect(t, "refused virtual_host t1 a.example [HTTPRoute/shop/c2/0]: backend c2: no such thing")
		p.hearsNothing()
		j.nothing(t)
		state := c.cache.Apply([]xds.Change{cluster(t, group, "c1", ""), hostTo(t, "a.example", "c1", "c1")})[group]
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
		j.expect(t, "holds "+state)
		p.hearsNothing()
	})
}

func TestARouteTableStaysAsItIsIfItsNewClusterIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := booted(t, j)
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), hostTo(t, "*.example", "c2")})
		p.refuse(p.receive(), refusedC2)
		j.expect(t, "refused cluster  c2 []: no such thing",
			"refused virtual_host t1 *.example [HTTPRoute/shop/c2/0]: backend c2: no such thing")
		p.hearsNothing()
		state := c.cache.Apply([]xds.Change{hostTo(t, "*.example", "c1")})[group]
		p.expect(routeURL, []string{"t1"}, nil)
		j.expect(t, "holds "+state)
	})
}

func TestWildcardHostsStayAsTheyAreIfANewClusterIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := routed(t, j)
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), hostTo(t, "*.one", "c2"), hostTo(t, "*.two", "c1")})
		p.refuse(p.receive(), refusedC2)
		j.expect(t, "refused cluster  c2 []: no such thing", "refused virtual_host t1 *.one [HTTPRoute/shop/c2/0]: backend c2: no such thing")
		p.hearsNothing()
		state := c.cache.Apply([]xds.Change{removed(hostTo(t, "*.one", "c2"))})[group]
		p.expect(scopeURL, []string{"t1|*"}, nil)
		j.expect(t, "holds "+state)
	})
}

// Nothing may have replaced the route, so it does not wait for ever.
func TestARouteWaitsForARefusedClusterForALimitedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := routed(t, j)
		state := c.cache.Apply(
			[]xds.Change{cluster(t, group, "c2", ""), hostTo(t, "a.example", "c2"), removed(cluster(t, group, "c1", ""))},
		)[group]
		p.refuse(p.receive(), refusedC2)
		j.expect(t, "refused cluster  c2 []: no such thing",
			"refused virtual_host t1 a.example [HTTPRoute/shop/c2/0]: backend c2: no such thing")
		time.Sleep(xds.RefusedTimeout - time.Second)
		p.hearsNothing()
		time.Sleep(time.Second)
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
		j.expect(t, "holds "+state)
		p.expect(clusterURL, nil, []string{"c1"})
	})
}

// The cluster may have been refused long before.
func TestEachVersionOfARouteWaitsForARefusedCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := routed(t, j)
		state := c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), hostTo(t, "b.example", "c2")})[group]
		p.refuse(p.receive(), refusedC2)
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		j.expect(t, "refused cluster  c2 []: no such thing", "holds "+state)
		for _, clusters := range [][]string{{"c2"}, {"c2", "c2"}} {
			time.Sleep(xds.RefusedTimeout + time.Second)
			state = c.cache.Apply([]xds.Change{hostTo(t, "a.example", clusters...)})[group]
			j.expect(t, "refused virtual_host t1 a.example [HTTPRoute/shop/c2/0]: backend c2: no such thing")
			time.Sleep(xds.RefusedTimeout - time.Second)
			p.hearsNothing()
			time.Sleep(time.Second)
			p.expect(scopeURL, []string{"t1|a.example"}, nil)
			j.expect(t, "holds "+state)
		}
	})
}

// Without it a wider host would answer.
func TestANewHostDoesNotWaitForARefusedCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := routed(t, j)
		state := c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), hostTo(t, "b.example", "c2")})[group]
		p.refuse(p.receive(), refusedC2)
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		j.expect(t, "refused cluster  c2 []: no such thing", "holds "+state)
	})
}

func TestARouteWaitsForABetterVersionOfARefusedCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := routed(t, j)
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), hostTo(t, "a.example", "c2")})
		p.refuse(p.receive(), refusedC2)
		j.expect(t, "refused cluster  c2 []: no such thing",
			"refused virtual_host t1 a.example [HTTPRoute/shop/c2/0]: backend c2: no such thing")
		state := c.cache.Apply([]xds.Change{cluster(t, group, "c2", "better")})[group]
		better := p.receive()
		check(t, better, clusterURL, []string{"c2"}, nil)
		p.hearsNothing()
		p.acknowledge(better)
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
		j.expect(t, "holds "+state)
	})
}

// A route that other proxies can serve is not replaced for them.
func TestAProxyThatRefusesAClusterGetsAnotherHostInstead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const refused = "refused virtual_host t1 a.example [HTTPRoute/shop/c2/0]: backend c2: "
		j := make(journal, 100)
		c, p := routed(t, j)
		edited := hostTo(t, "a.example", "c2")
		state := c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), edited})[group]
		p.refuse(p.receive(), refusedC2)
		j.expect(t, "refused cluster  c2 []: no such thing", refused+"no such thing")
		edited.Instead = host(t, "a.example", " closed").Resource
		c.cache.Apply([]xds.Change{edited})
		if got := hostsOf(t, p.take()); got != "a.example closed" {
			t.Errorf("got hosts %s", got)
		}
		j.expect(t, "holds "+state)
		time.Sleep(xds.RefusedTimeout)
		p.hearsNothing()

		// It refuses another version of the cluster, too, and keeps what it has.
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", "other")})
		p.refuse(p.receive(), refusedC2)
		j.expect(t, "refused cluster  c2 []: no such thing", refused+"no such thing")
		time.Sleep(xds.RefusedTimeout)
		p.hearsNothing()

		c.cache.Apply([]xds.Change{cluster(t, group, "c2", "better")})
		p.expect(clusterURL, []string{"c2"}, nil)
		if got := hostsOf(t, p.take()); got != "a.example" {
			t.Errorf("got hosts %s", got)
		}
	})
}

func TestAClusterThatDoesNotWarmHoldsBackOnlyItsUsers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := routed(t, j)
		c.cache.Apply([]xds.Change{
			cluster(t, group, "c2", ""), hostTo(t, "a.example", "c2"), host(t, "b.example", ""), hostTo(t, "n.example", "c2"),
			scopedListener(t, "changed"), removed(cluster(t, group, "c1", "")),
		})
		late := p.receive()
		check(t, late, clusterURL, []string{"c2"}, nil)
		p.hearsNothing()
		time.Sleep(xds.WarmTimeout)
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		p.expect(listenerURL, []string{"l1"}, nil)
		c.cache.Apply([]xds.Change{host(t, "d.example", "")})
		p.expect(scopeURL, []string{"t1|d.example"}, nil)
		// Envoy acknowledges no other cluster meanwhile.
		state := c.cache.Apply([]xds.Change{cluster(t, group, "c3", ""), hostTo(t, "o.example", "c3"), removed(host(t, "d.example", ""))})[group]
		p.expect(scopeURL, nil, []string{"t1|d.example"})
		time.Sleep(10 * xds.WarmTimeout)
		p.hearsNothing()
		j.nothing(t)
		p.acknowledge(late)
		p.expect(clusterURL, []string{"c3"}, nil)
		p.expect(scopeURL, []string{"t1|a.example", "t1|n.example", "t1|o.example"}, nil)
		j.expect(t, "holds "+state)
		p.expect(clusterURL, nil, []string{"c1"})
		p.hearsNothing()
	})
}

// The proxy answers the removal of a cluster when it is already about to come back.
func TestTheAnswerToARemovalIsNoneForTheClusterThatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := routed(t, make(journal, 100))
		c.cache.Apply([]xds.Change{host(t, "a.example", ""), removed(cluster(t, group, "c1", ""))})
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
		removal := p.receive()
		check(t, removal, clusterURL, nil, []string{"c1"})
		c.cache.Apply([]xds.Change{hostTo(t, "a.example", "c1"), cluster(t, group, "c1", "")})
		p.acknowledge(removal)
		late := p.receive()
		check(t, late, clusterURL, []string{"c1"}, nil)
		time.Sleep(xds.WarmTimeout)
		p.hearsNothing()
		p.acknowledge(late)
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
	})
}

func TestARouteIsReportedIfItsLateClusterIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := routed(t, j)
		c.cache.Apply([]xds.Change{
			cluster(t, group, "c2", ""), cluster(t, group, "c3", ""), hostTo(t, "a.example", "c2"), hostTo(t, "b.example", "c3"),
		})
		late := p.receive()
		time.Sleep(xds.WarmTimeout)
		p.hearsNothing()
		p.refuse(late, refusedC2)
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		j.expect(t, "refused cluster  c2 []: no such thing",
			"refused virtual_host t1 a.example [HTTPRoute/shop/c2/0]: backend c2: no such thing")
		p.hearsNothing()
		time.Sleep(xds.RefusedTimeout)
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
	})
}

// Envoy uses the older version until the new one is warm.
func TestARouteDoesNotWaitForAClusterThatTheProxyHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := routed(t, make(journal, 100))
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "other"), hostTo(t, "a.example", "c1", "c1")})
		check(t, p.receive(), clusterURL, []string{"c1"}, nil)
		p.hearsNothing()
		time.Sleep(xds.WarmTimeout)
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
	})
}

func TestTheFirstListenersWaitForAllHosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", ""), table(t, group, "t1"), hostTo(t, "a.example", "c1"), scopedListener(t, "")})
		p := c.connect(group)
		p.introduce(clusterURL, true, map[string]string{"gone": "v1"})
		p.subscribe(scopeURL)
		p.subscribe(listenerURL)
		check(t, p.receive(), clusterURL, []string{"c1"}, nil)
		time.Sleep(xds.WarmTimeout)
		// Listeners would answer by wider hosts.
		p.expect(scopeURL, []string{"t1|*"}, nil)
		time.Sleep(10 * xds.WarmTimeout)
		p.hearsNothing()
		p.disconnect()
	})
}

func TestTheNameOfAClusterIsFoundInAMessage(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long/", 60)
	for _, test := range []struct {
		name, value string
		found       bool
	}{
		{"shop/web", "shop/web", true},
		{"shop/web", "shop/web-2", false},
		{"shop/web-2", "shop/web", false},
		{long, long, true},
		{long, long[1:], false},
		{"a", "", false},
	} {
		value, err := proto.Marshal(&listenerv3.Listener{Name: test.value})
		if err != nil {
			t.Fatal(err)
		}
		if got := xds.Names(value, test.name); got != test.found {
			t.Errorf("%.20q in %.20q: got %v", test.name, test.value, got)
		}
	}
}
