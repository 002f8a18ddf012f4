package xds_test

import (
	"fmt"
	"testing"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestRoutesAreSentWhenTheirClustersAreAcknowledged(t *testing.T) {
	t.Parallel()
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
}

func TestARoundSaysWhatWasSoWhenItBegan(t *testing.T) {
	t.Parallel()
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
}

func TestRoutesAreNotStarvedByClustersThatKeepChanging(t *testing.T) {
	t.Parallel()
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
}

func TestATableThatANewListenerNeedsWaitsForItsClusters(t *testing.T) {
	t.Parallel()
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
}

func TestATableThatIsAnsweredFromTheLastRoundIsSentAgainInTheNext(t *testing.T) {
	t.Parallel()
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
}
