package xds_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestRoutesAreSentWhenTheirClustersAreAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{cluster(t, group, "c3", ""), host(t, "a.example", "to c3"), removed(cluster(t, group, "c1", ""))})
		clusters := p.receive()
		check(t, clusters, clusterURL, []string{"c3"}, nil)
		p.hearsNothing()

		p.acknowledge(clusters)
		routes := p.receive()
		check(t, routes, routeURL, []string{"t1"}, nil)
		p.hearsNothing()

		p.acknowledge(routes)
		p.expect(clusterURL, nil, []string{"c1"})
		p.hearsNothing()
	})
}

func TestAnUpdateCycleSendsTheStateAtItsBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{cluster(t, group, "c3", ""), host(t, "a.example", "to c3")})
		first := p.receive()
		check(t, first, clusterURL, []string{"c3"}, nil)
		c.cache.Apply([]xds.Change{cluster(t, group, "c4", ""), host(t, "a.example", "to c4"), removed(cluster(t, group, "c3", ""))})
		p.hearsNothing()

		p.acknowledge(first)
		before := versions(p.expect(routeURL, []string{"t1"}, nil))
		p.expect(clusterURL, []string{"c4"}, nil)
		after := versions(p.expect(routeURL, []string{"t1"}, nil))
		if before["t1"] == after["t1"] {
			t.Error("the first route table already named a cluster that the proxy did not have")
		}
		p.expect(clusterURL, nil, []string{"c3"})
		p.hearsNothing()
	})
}

func TestRoutesAreNotStarvedByClustersThatKeepChanging(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{cluster(t, group, "c3", "0")})
		for i := range 20 {
			clusters := p.receive()
			check(t, clusters, clusterURL, []string{"c3"}, nil)
			c.cache.Apply([]xds.Change{cluster(t, group, "c3", fmt.Sprint(i+1)), host(t, "a.example", fmt.Sprint(i))})
			p.acknowledge(clusters)
			if i > 0 {
				p.expect(routeURL, []string{"t1"}, nil)
			}
		}
	})
}

func TestATableThatANewListenerNeedsWaitsForItsClusters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{cluster(t, group, "c3", "")})
		clusters := p.receive()
		check(t, clusters, clusterURL, []string{"c3"}, nil)
		c.cache.Apply([]xds.Change{table(t, group, "t2"), listener(t, "l2", "")})
		p.subscribe(routeURL, "t2")
		p.hearsNothing()
		p.acknowledge(clusters)
		p.expect(listenerURL, []string{"l2"}, nil)
		p.expect(routeURL, []string{"t2"}, nil)
		p.hearsNothing()
	})
}

func TestATableThatIsAnsweredFromTheLastCycleIsSentAgainInTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", ""), table(t, group, "t1"), host(t, "a.example", "to c1")})
		p := c.connect(group)
		p.subscribe(clusterURL)
		p.expect(clusterURL, []string{"c1"}, nil)
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), host(t, "a.example", "to c2")})
		clusters := p.receive()
		check(t, clusters, clusterURL, []string{"c2"}, nil)
		p.subscribe(routeURL, "t1")
		before := versions(p.expect(routeURL, []string{"t1"}, nil))
		p.hearsNothing()
		p.acknowledge(clusters)
		if after := versions(p.expect(routeURL, []string{"t1"}, nil)); before["t1"] == after["t1"] {
			t.Error("the same was sent twice")
		}
		p.hearsNothing()
	})
}

// Envoy asks for clusters first when it reconnects, and only then says which scopes and listeners it has.
func TestNothingIsRemovedBeforeAProxyHasSaidWhatItUses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply(
			[]xds.Change{
				cluster(t, group, "c1", ""), cluster(t, group, "c2", ""), table(t, group, "t1"), host(t, "a.example", ""), scopedListener(t, ""),
			},
		)
		first := c.connect(group)
		first.introduce(clusterURL, true, nil)
		held := versions(first.expect(clusterURL, []string{"c1", "c2"}, nil))
		first.subscribe(scopeURL)
		scopes := versions(first.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil))
		first.disconnect()
		p := c.connect(group)
		p.introduce(clusterURL, true, held)
		p.hearsNothing()
		c.cache.Apply([]xds.Change{removed(cluster(t, group, "c1", "")), removed(host(t, "a.example", ""))})
		empty := p.receive()
		check(t, empty, clusterURL, nil, nil)
		p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopeURL, InitialResourceVersions: scopes})
		p.acknowledge(empty)
		p.expect(scopeURL, nil, []string{"t1|a.example"})
		p.expect(clusterURL, nil, []string{"c1"})
	})
}

// While Envoy warms clusters it does not ask for them on a new stream, and routes must not use them yet.
func TestScopesWaitUntilAProxyHasAskedForClusters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", ""), table(t, group, "t1"), host(t, "a.example", ""), scopedListener(t, "")})
		p := c.connect(group)
		p.introduce(scopeURL, true, map[string]string{"t1|*": "old"})
		p.hearsNothing()
		p.subscribe(clusterURL)
		p.expect(clusterURL, []string{"c1"}, nil)
		p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
	})
}

// The scope that used a cluster comes back with another one, while both are about to be removed.
func TestAClusterStaysUntilWhatCameBackIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := scoped(t, make(journal, 100))
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), host(t, "b.example", "uses c2")})
		p.expect(clusterURL, []string{"c2"}, nil)
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		c.cache.Apply([]xds.Change{host(t, "c.example", ""), removed(host(t, "b.example", "")), removed(cluster(t, group, "c2", ""))})
		other := p.receive()
		check(t, other, scopeURL, []string{"t1|c.example"}, nil)
		c.cache.Apply([]xds.Change{host(t, "b.example", "uses c1")})
		p.acknowledge(other)
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		p.expect(clusterURL, nil, []string{"c2"})
	})
}

func TestARefusedScopeThatIsGoingHoldsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		c.cache.Apply([]xds.Change{host(t, "b.example", "")})
		late := p.receive()
		check(t, late, scopeURL, []string{"t1|b.example"}, nil)
		state := c.cache.Apply([]xds.Change{removed(host(t, "b.example", ""))})[group]
		p.refuse(late, "no such thing")
		p.expect(scopeURL, nil, []string{"t1|b.example"})
		j.expect(t, "holds "+state)
	})
}

func TestARefusedScopeThatComesBackIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, more := range [][]string{nil, {"c.example"}} {
		t.Run(fmt.Sprintf("with %d others", len(more)), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, p := scoped(t, make(journal, 100))
				var come, leave []xds.Change
				names := []string{"t1|b.example"}
				for _, domain := range append([]string{"b.example"}, more...) {
					come, leave = append(come, host(t, domain, "")), append(leave, removed(host(t, domain, "")))
				}
				for _, domain := range more {
					names = append(names, "t1|"+domain)
				}
				c.cache.Apply(come)
				late := p.receive()
				check(t, late, scopeURL, names, nil)
				c.cache.Apply(leave)
				p.refuse(late, "no such thing")
				removal := p.receive()
				check(t, removal, scopeURL, nil, names)
				c.cache.Apply(come)
				p.acknowledge(removal)
				p.expect(scopeURL, names, nil)
			})
		})
	}
}

func TestANACKedScopeThatComesBackBeforeTheNACKIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := scoped(t, make(journal, 100))
		both := []xds.Change{host(t, "b.example", ""), host(t, "c.example", "")}
		c.cache.Apply(both)
		late := p.receive()
		check(t, late, scopeURL, []string{"t1|b.example", "t1|c.example"}, nil)
		c.cache.Apply([]xds.Change{removed(both[0]), removed(both[1])})
		c.cache.Apply(both)
		p.refuse(late, "no such thing")
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		p.expect(scopeURL, []string{"t1|c.example"}, nil)
	})
}
