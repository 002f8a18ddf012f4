package xds_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/xds"
)

// TestANACKCountsThoughTheNextVersionIsPlanned has a version be wanted again that the proxy rejects, before it was sent the next one, whose
// cluster is late. The proxy still leads to the cluster of the version before.
func TestANACKCountsThoughTheNextVersionIsPlanned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := routed(t, j)
		c.cache.Apply([]xds.Change{host(t, "a.example", "bad")})
		rejected := p.receive()
		check(t, rejected, scopeURL, []string{"t1|a.example"}, nil)
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), hostTo(t, "a.example", "c2")})
		late := p.receive()
		check(t, late, clusterURL, []string{"c2"}, nil)
		p.refuse(rejected, "no such thing")
		synctest.Wait()
		c.cache.Apply([]xds.Change{
			host(t, "a.example", "bad"), removed(cluster(t, group, "c1", "")), removed(cluster(t, group, "c2", "")),
		})
		time.Sleep(xds.WarmTimeout)
		again := p.receive()
		check(t, again, scopeURL, []string{"t1|a.example"}, nil)
		p.refuse(again, "no such thing")
		p.acknowledge(late)
		answerProbes(t, p)
		j.expect(t, "refused virtual_host t1 a.example []: no such thing")
		j.nothing(t)
		state := c.cache.Apply([]xds.Change{host(t, "a.example", "better")})[group]
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
		p.expect(clusterURL, nil, []string{"c1", "c2"})
		j.expect(t, "holds "+state)
	})
}

// TestANACKCountsThoughARemovalIsPlanned has a listener come back that the proxy rejects, before it was removed: NACKed scopes keep the
// removal back.
func TestANACKCountsThoughARemovalIsPlanned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		c.cache.Apply([]xds.Change{listener(t, "l2", "bad")})
		rejected := p.receive()
		check(t, rejected, listenerURL, []string{"l2"}, nil)
		c.cache.Apply([]xds.Change{removed(listener(t, "l2", "bad")), host(t, "b.example", "bad"), host(t, "c.example", "")})
		scopes := p.receive()
		check(t, scopes, scopeURL, []string{"t1|b.example", "t1|c.example"}, nil)
		p.refuse(rejected, "Error adding/updating listener(s) l2: no such thing")
		j.expect(t, "refused listener  l2 []: no such thing")
		state := c.cache.Apply([]xds.Change{listener(t, "l2", "bad")})[group]
		p.refuse(scopes, "it is not good")
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		p.expect(scopeURL, []string{"t1|c.example"}, nil)
		j.nothing(t)
		p.expect(listenerURL, []string{"l2"}, nil)
		j.expect(t, "holds "+state)
	})
}
