package xds_test

import (
	"testing"
	"testing/synctest"

	"github.com/gatewright/gatewright/internal/xds"
)

// nackJournal records NACKs.
type nackJournal struct {
	journal
	nacks *[]xds.NACK
}

func (j nackJournal) NACKed(_ xds.Identity, nack xds.NACK) { *j.nacks = append(*j.nacks, nack) }

// TestANACKSaysWhichClusterIsTheCauseAndWhetherProxiesFellBack has a proxy refuse a new cluster that a host names, and a new version of
// another one.
func TestANACKSaysWhichClusterIsTheCauseAndWhetherProxiesFellBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var nacks []xds.NACK
		c := start(t, options{observer: nackJournal{make(journal, 100), &nacks}})
		c.cache.Apply([]xds.Change{
			cluster(t, group, "c1", ""), table(t, group, "t1"), hostTo(t, "a.example", "c1"), scopedListener(t, ""),
		})
		p := c.connect(group)
		p.introduce(clusterURL, true, nil)
		p.expect(clusterURL, []string{"c1"}, nil)
		p.subscribe(listenerURL)
		p.expect(listenerURL, []string{"l1"}, nil)
		p.subscribe(scopeURL)
		p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
		bad := cluster(t, group, "c2", "")
		c.cache.Apply([]xds.Change{bad, hostTo(t, "a.example", "c2")})
		p.refuse(p.receive(), refusedC2)
		synctest.Wait()
		if len(nacks) != 2 || nacks[0].FellBack || nacks[1].Cluster != (xds.ClusterVersion{Name: "c2", Version: bad.Resource.Version()}) {
			t.Fatalf("the NACKs are %+v", nacks)
		}
		if !c.cache.Wants(group, nacks[1]) {
			t.Error("the NACK of the host is void")
		}
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", "better")})
		if c.cache.Wants(group, nacks[1]) {
			t.Error("the NACK of the host is not void with another cluster")
		}
		p.expect(clusterURL, []string{"c2"}, nil)
		synctest.Wait()
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", "worse")})
		for len(nacks) == 2 {
			response := p.receive()
			if response.GetTypeUrl() == clusterURL {
				p.refuse(response, refusedC2)
			} else {
				p.acknowledge(response)
			}
			synctest.Wait()
		}
		if !nacks[2].FellBack {
			t.Errorf("the NACK is %+v", nacks[2])
		}
	})
}
