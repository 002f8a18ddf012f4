package xds_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

var group = xds.GroupID{Namespace: "shop", Name: "web"}

// boot lets a proxy connect the way Envoy does and brings it to rest.
func boot(t *testing.T, c *control) *proxy {
	t.Helper()
	c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": assignment(t, "eds/c1", 1), "eds/c2": assignment(t, "eds/c2", 1)})
	c.cache.Apply([]xds.Change{
		cluster(t, group, "c1", ""), cluster(t, group, "c2", ""), secret(t, group, "s1", ""), listener(t, "l1", ""),
		table(t, group, "t1"), host(t, "a.example", ""), host(t, "b.example", ""),
	})
	p := c.connect(group)
	p.subscribe(clusterURL)
	p.expect(clusterURL, []string{"c1", "c2"}, nil)
	p.subscribe(endpointURL, "eds/c1", "eds/c2")
	p.expect(endpointURL, []string{"eds/c1", "eds/c2"}, nil)
	p.subscribe(listenerURL)
	p.expect(listenerURL, []string{"l1"}, nil)
	p.subscribe(secretURL, "s1")
	p.expect(secretURL, []string{"s1"}, nil)
	p.subscribe(routeURL, "t1")
	p.expect(routeURL, []string{"t1"}, nil)
	p.hearsNothing()
	return p
}

func TestOneChangePushesOnlyItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)

		c.cache.Apply([]xds.Change{cluster(t, group, "c2", "new"), cluster(t, group, "c1", "")})
		p.expect(clusterURL, []string{"c2"}, nil)
		p.expect(endpointURL, []string{"eds/c2"}, nil)
		c.cache.Apply([]xds.Change{host(t, "c.example", "")})
		p.expect(routeURL, []string{"t1"}, nil)
		c.cache.ApplyEndpoints(
			map[string]*xds.Resource{
				"eds/c1": assignment(t, "eds/c1", 2), "eds/c2": assignment(t, "eds/c2", 1), "eds/c9": assignment(t, "eds/c9", 1),
			},
		)
		p.expect(endpointURL, []string{"eds/c1"}, nil)
		c.cache.Apply([]xds.Change{secret(t, group, "s1", "new"), secret(t, group, "unwanted", "")})
		p.expect(secretURL, []string{"s1"}, nil)
		c.cache.Apply([]xds.Change{removed(listener(t, "l1", "")), listener(t, "l2", "")})
		p.expect(listenerURL, []string{"l2"}, []string{"l1"})
		p.hearsNothing()
	})
}

func TestUpdatesComeInOrderAndRemovalsLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{
			removed(cluster(t, group, "c1", "")),
			host(t, "a.example", "to c3"),
			listener(t, "l1", "new"),
			secret(t, group, "s1", "new"),
			cluster(t, group, "c3", ""),
		})
		p.expect(clusterURL, []string{"c3"}, nil)
		p.expect(secretURL, []string{"s1"}, nil)
		p.expect(listenerURL, []string{"l1"}, nil)
		p.expect(routeURL, []string{"t1"}, nil)
		p.expect(clusterURL, nil, []string{"c1"})
		c.cache.Apply([]xds.Change{removed(cluster(t, group, "c2", "")), removed(secret(t, group, "s1", "")), host(t, "a.example", "")})
		p.expect(routeURL, []string{"t1"}, nil)
		p.expect(secretURL, nil, []string{"s1"})
		p.expect(clusterURL, nil, []string{"c2"})
		p.hearsNothing()
	})
}

func TestRoutesWaitForClustersThatCannotBeSentYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{cluster(t, group, "c3", "")})
		unanswered := p.receive()
		check(t, unanswered, clusterURL, []string{"c3"}, nil)
		c.cache.Apply([]xds.Change{cluster(t, group, "c4", ""), host(t, "a.example", "to c4")})
		c.cache.Apply([]xds.Change{cluster(t, group, "c3", "new")})
		c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": assignment(t, "eds/c1", 2)})
		p.expect(endpointURL, []string{"eds/c1"}, nil)
		p.hearsNothing()

		p.acknowledge(unanswered)
		p.expect(clusterURL, []string{"c3", "c4"}, nil)
		p.expect(routeURL, []string{"t1"}, nil)
		p.hearsNothing()
	})
}

func TestARefusedVersionIsNotSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "bad")})
		bad := p.receive()
		p.refuse(bad, "bad")
		p.expect(endpointURL, []string{"eds/c1"}, nil)
		good := p.expect(clusterURL, []string{"c1"}, nil)
		if versions(good)["c1"] == versions(bad)["c1"] {
			t.Error("the same was sent twice")
		}
		p.expect(endpointURL, []string{"eds/c1"}, nil)
		p.hearsNothing()
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "bad")})
		p.hearsNothing()
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "good")})
		p.expect(clusterURL, []string{"c1"}, nil)
	})
}

func TestAChangeTakenBackWhileUnansweredIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{cluster(t, group, "c3", "")})
		unanswered := p.receive()
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "other"), cluster(t, group, "c4", "")})
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", ""), removed(cluster(t, group, "c4", "")), removed(cluster(t, group, "c3", ""))})
		p.acknowledge(unanswered)
		p.expect(clusterURL, nil, []string{"c3"})
		p.hearsNothing()
	})
}

// disconnected is a proxy that has left, with what it holds.
func disconnected(t *testing.T) (c *control, clusters, routes map[string]string) {
	t.Helper()
	c = start(t, options{})
	c.cache.Apply([]xds.Change{cluster(t, group, "c1", ""), cluster(t, group, "c2", ""), table(t, group, "t1"), listener(t, "l1", "")})
	p := c.connect(group)
	p.subscribe(clusterURL)
	clusters = versions(p.expect(clusterURL, []string{"c1", "c2"}, nil))
	p.subscribe(routeURL, "t1")
	routes = versions(p.expect(routeURL, []string{"t1"}, nil))
	p.disconnect()
	return c, clusters, routes
}

func TestReconnect(t *testing.T) {
	t.Parallel()
	t.Run("with what is current brings nothing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, clusters, routes := disconnected(t)
			p := c.connect(group)
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, InitialResourceVersions: clusters})
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: routeURL, ResourceNamesSubscribe: []string{"t1"}, InitialResourceVersions: routes})
			p.hearsNothing()
		})
	})
	t.Run("to another replica with the same content brings nothing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, clusters, routes := disconnected(t)
			other := start(t, options{})
			other.cache.Apply([]xds.Change{table(t, group, "t1"), cluster(t, group, "c2", ""), cluster(t, group, "c1", "")})
			p := other.connect(group)
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, InitialResourceVersions: clusters})
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: routeURL, ResourceNamesSubscribe: []string{"t1"}, InitialResourceVersions: routes})
			p.hearsNothing()
		})
	})
	t.Run("brings what differs, and removals after the routes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, clusters, routes := disconnected(t)
			other := start(t, options{})
			other.cache.Apply([]xds.Change{
				cluster(t, group, "c2", ""), cluster(t, group, "c3", ""), table(t, group, "t1"), host(t, "a.example", ""),
			})
			p := other.connect(group)
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, InitialResourceVersions: clusters})
			p.send(&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: routeURL, ResourceNamesSubscribe: []string{"t1"},
				InitialResourceVersions: map[string]string{"t1": routes["t1"], "gone": "1"},
			})
			p.expect(clusterURL, []string{"c3"}, nil)
			p.expect(routeURL, []string{"t1"}, nil)
			p.expect(clusterURL, nil, []string{"c1"})
		})
	})
	t.Run("with only something to remove gets an answer first", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, known, _ := disconnected(t)
			known["gone"] = "1"
			p := c.connect(group)
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, InitialResourceVersions: known})
			p.expect(clusterURL, nil, nil)
			p.expect(clusterURL, nil, []string{"gone"})
		})
	})
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	t.Run("a wildcard of nothing is answered", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := start(t, options{}).connect(group)
			p.subscribe(clusterURL)
			p.expect(clusterURL, nil, nil)
			p.subscribe(listenerURL, "*")
			p.expect(listenerURL, nil, nil)
			p.hearsNothing()
		})
	})
	t.Run("a name that does not exist is answered, and sent when it comes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			p := c.connect(group)
			p.subscribe(clusterURL)
			p.expect(clusterURL, nil, nil)
			p.subscribe(routeURL, "t1")
			p.expect(routeURL, nil, []string{"t1"})
			p.subscribe(secretURL, "s1")
			p.expect(secretURL, nil, []string{"s1"})
			c.cache.Apply([]xds.Change{host(t, "a.example", "")})
			p.hearsNothing()
			c.cache.Apply([]xds.Change{table(t, group, "t1"), secret(t, group, "s1", "")})
			p.expect(secretURL, []string{"s1"}, nil)
			p.expect(routeURL, []string{"t1"}, nil)
		})
	})
	t.Run("a first request for no names is not a wildcard where names are needed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			c.cache.Apply([]xds.Change{secret(t, group, "s1", "")})
			p := c.connect(group)
			p.subscribe(secretURL)
			p.hearsNothing()
		})
	})
	t.Run("what is asked for again is sent again", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := boot(t, start(t, options{}))
			p.subscribe(endpointURL, "eds/c1")
			p.expect(endpointURL, []string{"eds/c1"}, nil)
		})
	})
	t.Run("what is given up is not sent any more", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			p := boot(t, c)
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpointURL, ResourceNamesUnsubscribe: []string{"eds/c1"}})
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: routeURL, ResourceNamesUnsubscribe: []string{"t1"}})
			p.hearsNothing()
			c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": assignment(t, "eds/c1", 2)})
			c.cache.Apply([]xds.Change{host(t, "a.example", "new")})
			p.hearsNothing()
		})
	})
	t.Run("a wildcard can be replaced by names", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			p := boot(t, c)
			p.send(&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"c1"}, ResourceNamesUnsubscribe: []string{"*"},
			})
			p.expect(clusterURL, []string{"c1"}, nil)
			p.expect(endpointURL, []string{"eds/c1"}, nil)
			c.cache.Apply([]xds.Change{cluster(t, group, "c2", "new"), cluster(t, group, "c1", "new")})
			p.expect(clusterURL, []string{"c1"}, nil)
		})
	})
	t.Run("a name given up below a wildcard is answered", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
			p := c.connect(group)
			p.subscribe(clusterURL, "c1", "*")
			p.expect(clusterURL, []string{"c1"}, nil)
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesUnsubscribe: []string{"c1"}})
			p.expect(clusterURL, []string{"c1"}, nil)
		})
	})
}

func TestManyChangesAtOnceEndInTheSameState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		const rounds, proxies = 300, 4
		var connected sync.WaitGroup
		finished := make(chan map[string]map[string]string, proxies)
		for range proxies {
			p := c.connect(group)
			connected.Add(1)
			go func() { finished <- p.follow(connected.Done) }()
		}
		connected.Wait()

		var writers sync.WaitGroup
		writers.Go(func() {
			for i := range rounds {
				note, name := fmt.Sprint(i), fmt.Sprintf("c%d", i%7)
				change := cluster(t, group, name, note)
				if i%5 == 0 {
					change = removed(change)
				}
				c.cache.Apply([]xds.Change{change, cluster(t, group, "c0", note), host(t, name+".example", note), table(t, group, "t1")})
			}
		})
		writers.Go(func() {
			for i := range rounds {
				c.cache.ApplyEndpoints(
					map[string]*xds.Resource{"eds/c0": assignment(t, "eds/c0", uint32(i+1)), "eds/c1": assignment(t, "eds/c1", uint32(i+1))},
				)
			}
		})
		writers.Wait()
		last := cluster(t, group, "last", "")
		c.cache.Apply([]xds.Change{last, host(t, "last.example", "")})

		reference := c.connectAs("reference")
		want := map[string]map[string]string{}
		for _, request := range []*discoveryv3.DeltaDiscoveryRequest{
			{TypeUrl: clusterURL},
			{TypeUrl: routeURL, ResourceNamesSubscribe: []string{"t1"}},
			{TypeUrl: endpointURL, ResourceNamesSubscribe: []string{"eds/c0"}},
		} {
			reference.send(request)
			want[request.GetTypeUrl()] = versions(reference.take())
		}
		for range proxies {
			got := <-finished
			for url := range want {
				if !maps.Equal(got[url], want[url]) {
					t.Errorf("%s: a proxy that followed holds %v, one that came later %v", url, got[url], want[url])
				}
			}
		}
	})
}

// again asks for something once more and takes the answer.
func (p *proxy) again(url string, names ...string) *discoveryv3.DeltaDiscoveryResponse {
	p.t.Helper()
	p.subscribe(url, names...)
	return p.take()
}

// follow subscribes, acknowledges everything, and returns what the proxy holds when nothing more comes. It is ready when it has the first
// response of each type.
func (p *proxy) follow(ready func()) map[string]map[string]string {
	ready = sync.OnceFunc(ready)
	defer ready()
	p.subscribe(clusterURL)
	p.subscribe(routeURL, "t1")
	p.subscribe(endpointURL, "eds/c0")
	held := map[string]map[string]string{clusterURL: {}, routeURL: {}, endpointURL: {}}
	for i := 0; ; i++ {
		if i == 3 {
			ready()
		}
		var response *discoveryv3.DeltaDiscoveryResponse
		select {
		case response = <-p.responses:
		case <-time.After(timeout):
			return held
		}
		maps.Copy(held[response.GetTypeUrl()], versions(response))
		for _, name := range response.GetRemovedResources() {
			delete(held[response.GetTypeUrl()], name)
		}
		p.acknowledge(response)
	}
}

func versions(response *discoveryv3.DeltaDiscoveryResponse) map[string]string {
	out := map[string]string{}
	for _, resource := range response.GetResources() {
		out[resource.GetName()] = resource.GetVersion()
	}
	return out
}
