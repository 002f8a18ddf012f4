package xds_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

// badHost is a host with a route that the proxies of answerProbes reject.
func badHost(t *testing.T, domain string) xds.Change {
	t.Helper()
	message := &routev3.VirtualHost{Name: domain, Domains: []string{domain}, Routes: []*routev3.Route{{Name: "HTTPRoute/shop/bad/0"}}}
	return xds.Change{Group: group, Type: xds.VirtualHost, Table: "t1", Name: domain, Resource: resource(t, message)}
}

// hostsOf are the names of the virtual hosts in the scopes of a response.
func hostsOf(t *testing.T, response *discoveryv3.DeltaDiscoveryResponse) string {
	t.Helper()
	var names []string
	for _, r := range response.GetResources() {
		message := &routev3.ScopedRouteConfiguration{}
		if err := r.GetResource().UnmarshalTo(message); err != nil {
			t.Fatal(err)
		}
		for _, h := range message.GetRouteConfiguration().GetVirtualHosts() {
			names = append(names, h.GetName())
		}
	}
	return strings.Join(names, " ")
}

// TestAProxyThatRejectsAHostGetsAnotherOneInstead: others keep it, and nothing waits for this one.
func TestAProxyThatRejectsAHostGetsAnotherOneInstead(t *testing.T) {
	t.Parallel()
	for _, domain := range []string{"b.example", "*.other"} {
		t.Run(domain, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := make(journal, 100)
				c, p := scoped(t, j)
				bad := badHost(t, domain)
				state := c.cache.Apply([]xds.Change{bad})[group]
				rejected := p.receive()
				p.refuse(rejected, "no such thing")
				answerProbes(t, p)
				j.expect(t, "refused virtual_host t1 "+domain+" [HTTPRoute/shop/bad/0]: no such thing")
				p.hearsNothing()

				bad.Instead = host(t, domain, " closed").Resource
				if again := c.cache.Apply([]xds.Change{bad})[group]; again != state {
					t.Errorf("the state is %s, want %s", again, state)
				}
				if got := hostsOf(t, p.take()); !strings.Contains(got, domain+" closed") {
					t.Errorf("got hosts %s", got)
				}
				j.expect(t, "holds "+state)

				// It does not wait for anything, and gets the next version.
				state = c.cache.Apply([]xds.Change{scopedListener(t, "changed")})[group]
				p.expect(listenerURL, []string{"l1"}, nil)
				j.expect(t, "holds "+state)
				state = c.cache.Apply([]xds.Change{host(t, domain, " better")})[group]
				if got := hostsOf(t, p.take()); !strings.Contains(got, domain+" better") {
					t.Errorf("got hosts %s", got)
				}
				j.expect(t, "holds "+state)
			})
		})
	}
}

// TestAHostThatIsRejectedInsteadTooHoldsNothingBack: nothing is left to try.
func TestAHostThatIsRejectedInsteadTooHoldsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		bad := badHost(t, "b.example")
		c.cache.Apply([]xds.Change{bad})
		p.refuse(p.receive(), "no such thing")
		answerProbes(t, p)
		j.expect(t, "refused virtual_host t1 b.example [HTTPRoute/shop/bad/0]: no such thing")
		bad.Instead = host(t, "b.example", " also bad").Resource
		state := c.cache.Apply([]xds.Change{bad})[group]
		p.refuse(p.receive(), "no such thing")
		answerProbes(t, p)
		j.expect(t, "refused virtual_host t1 b.example []: no such thing", "holds "+state)
		p.hearsNothing()
		// There may be something else to try.
		bad.Instead = host(t, "b.example", " closed").Resource
		c.cache.Apply([]xds.Change{bad})
		if got := hostsOf(t, p.take()); got != "b.example closed" {
			t.Errorf("got hosts %s", got)
		}
	})
}

// TestARejectedHeaderHoldsOnlyItsTableBack: the proxy keeps the hosts that it has, and gets everything else.
func TestARejectedHeaderHoldsOnlyItsTableBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		header := xds.Change{
			Group: group, Type: xds.RouteTable, Name: "t1",
			Resource: resource(t, &routev3.RouteConfiguration{Name: "t1", RequestHeadersToRemove: []string{"bad"}}),
		}
		state := c.cache.Apply([]xds.Change{header, scopedListener(t, "changed")})[group]
		for waiting := true; waiting; {
			response := p.receive()
			p.rejectHeader(response)
			waiting = len(response.GetResources()) != 1 || response.GetResources()[0].GetName() != "l1"
		}
		j.expect(t, "refused route_table  t1 []: no such header")
		j.expect(t, "holds "+state)
		// With another header everything is as usual.
		bad := header.Resource
		header.Resource = resource(t, &routev3.RouteConfiguration{Name: "t1", RequestHeadersToRemove: []string{"good"}})
		state = c.cache.Apply([]xds.Change{header})[group]
		p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
		j.expect(t, "holds "+state)
		// It is reported each time it comes back, also if the table was gone.
		for range 2 {
			header.Resource = bad
			state = c.cache.Apply([]xds.Change{header})[group]
			p.rejectHeaders()
			j.expect(t, "refused route_table  t1 []: no such header")
			for got := ""; got != "holds "+state; {
				if got = j.next(t); !strings.HasPrefix(got, "refused route_table  t1") && got != "holds "+state {
					t.Fatal(got)
				}
			}
			state = c.cache.Apply([]xds.Change{removed(header)})[group]
			p.rejectHeaders()
			j.expect(t, "holds "+state)
		}
	})
}

// rejectHeader rejects a scope or probes with a bad header, and acknowledges everything else.
func (p *proxy) rejectHeader(response *discoveryv3.DeltaDiscoveryResponse) {
	switch {
	case !strings.Contains(response.String(), "bad"):
		p.acknowledge(response)
	case response.GetTypeUrl() == scopeURL:
		p.refuse(response, "no such header")
	default:
		var names strings.Builder
		for _, probe := range response.GetResources() {
			names.WriteString(probe.GetName() + ": no such header\n")
		}
		p.refuse(response, "Error adding/updating listener(s) "+names.String())
	}
}

// rejectHeaders rejects scopes and probes with a bad header, and acknowledges everything else, until there is nothing more.
func (p *proxy) rejectHeaders() {
	for {
		time.Sleep(quiet)
		synctest.Wait()
		select {
		case response := <-p.responses:
			p.rejectHeader(response)
		default:
			return
		}
	}
}

// TestTheVersionOfSubstitutesIsStable: a proxy that gets two of them is not sent all wildcard hosts again and again.
func TestTheVersionOfSubstitutesIsStable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		one, two := hostTo(t, "*.one", "c2"), hostTo(t, "*.two", "c2")
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), one, two})
		p.refuse(p.receive(), refusedC2)
		one.Instead, two.Instead = host(t, "*.one", " closed").Resource, host(t, "*.two", " closed").Resource
		c.cache.Apply([]xds.Change{one, two})
		if got := hostsOf(t, p.take()); got != "*.example *.one closed *.two closed" {
			t.Errorf("got hosts %s", got)
		}
		for range 20 {
			c.cache.Apply([]xds.Change{one, two})
			c.cache.Apply([]xds.Change{host(t, "b.example", "")})
			p.expect(scopeURL, []string{"t1|b.example"}, nil)
			c.cache.Apply([]xds.Change{removed(host(t, "b.example", ""))})
			p.expect(scopeURL, nil, []string{"t1|b.example"})
		}
	})
}
