package xds_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestABisectionDelaysNoChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy, goOn := make(chan struct{}), make(chan struct{})
		j := make(journal, 100)
		c := start(t, options{observer: j, prepare: func(s *xds.Server) {
			s.BeforeBisection(func() {
				busy <- struct{}{}
				<-goOn
			})
		}})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{host(t, "a.example", "bad")})
		p.refuse(p.receive(), "no such thing")
		apply := func(change xds.Change) {
			t.Helper()
			<-busy
			applied := make(chan struct{})
			go func() {
				defer close(applied)
				c.cache.Apply([]xds.Change{change})
				c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": assignment(t, "eds/c1", 7)})
			}()
			select {
			case <-applied:
			case <-time.After(timeout):
				t.Error("a change waits for the search of a proxy")
			}
			goOn <- struct{}{}
		}
		apply(cluster(t, group, "c3", "")) // while the hosts are read
		p.expect(endpointURL, []string{"eds/c1"}, nil)
		probes := p.receive()
		check(t, probes, listenerURL, []string{"probe/0"}, nil)
		p.refuse(probes, "Error adding/updating listener(s) probe/0: no such thing\n")
		apply(cluster(t, group, "c4", "")) // while conclusions are drawn
		p.expect(listenerURL, nil, []string{"probe/0"})
		p.expect(clusterURL, []string{"c3", "c4"}, nil)
		for j.next(t) != "refused virtual_host t1 a.example []: no such thing" {
		}
	})
}

func TestAProxyThatNACKsTheSameAgainCausesNoOtherBisection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		searches := make(chan struct{}, 100)
		c := start(t, options{prepare: func(s *xds.Server) { s.BeforeBisection(func() { searches <- struct{}{} }) }})
		p := boot(t, c)
		c.cache.Apply([]xds.Change{host(t, "a.example", "bad")})
		p.refuse(p.receive(), "no such thing")
		check(t, p.receive(), listenerURL, []string{"probe/0"}, nil) // which it never answers
		for range 5 {
			p.subscribe(routeURL, "t1")
			p.refuse(p.receive(), "no such thing")
		}
		p.subscribe(secretURL, "s1")
		p.expect(secretURL, []string{"s1"}, nil)
		if len(searches) != 1 {
			t.Errorf("there are %d searches", len(searches))
		}
	})
}
