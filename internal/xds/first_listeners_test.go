package xds_test

import (
	"testing"
	"testing/synctest"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

// Envoy is ready to serve when it has its first response with listeners, whatever is in it. With probes alone it would serve nothing.
func TestTheFirstListenersOfAProxyAreItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c := start(t, options{observer: j})
		bad := &routev3.VirtualHost{Name: "b", Domains: []string{"b.example"}, Routes: []*routev3.Route{{Name: "HTTPRoute/shop/bad/0"}}}
		c.cache.Apply([]xds.Change{
			cluster(t, group, "c1", ""), table(t, group, "t1"), host(t, "a.example", ""), host(t, "c.example", ""), scopedListener(t, ""),
			{Group: group, Type: xds.VirtualHost, Table: "t1", Name: "b.example", Resource: resource(t, bad)},
		})
		p := c.connect(group)
		p.introduce(clusterURL, true, nil)
		p.expect(clusterURL, []string{"c1"}, nil)
		p.subscribe(scopeURL)
		all := p.receive()
		check(t, all, scopeURL, []string{"t1|*", "t1|a.example", "t1|b.example", "t1|c.example"}, nil)
		p.subscribe(listenerURL)
		p.refuse(all, "no such thing")
		// The listener comes when the good ones of the refused response are there.
		p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
		half := p.receive()
		check(t, half, scopeURL, []string{"t1|b.example", "t1|c.example"}, nil)
		p.refuse(half, "no such thing")
		one := p.receive()
		check(t, one, scopeURL, []string{"t1|b.example"}, nil)
		p.refuse(one, "no such thing")
		p.expect(scopeURL, []string{"t1|c.example"}, nil)
		p.expect(listenerURL, []string{"l1"}, nil)
		answerProbes(t, p)
		j.expect(t, "connected "+group.String())
		j.expect(t, "refused virtual_host t1 b.example [HTTPRoute/shop/bad/0]: no such thing")
		// From then on listeners wait.
		c.cache.Apply([]xds.Change{scopedListener(t, "changed")})
		p.hearsNothing()
		state := c.cache.Apply([]xds.Change{host(t, "b.example", "")})[group]
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		p.expect(listenerURL, []string{"l1"}, nil)
		j.expect(t, "holds "+state)
	})
}
