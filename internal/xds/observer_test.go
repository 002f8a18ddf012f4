package xds_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/xds"
)

// journal writes down what an Observer is told.
type journal chan string

func (j journal) Connected(p xds.Identity)           { j <- "connected " + p.Group.String() }
func (j journal) Disconnected(p xds.Identity)        { j <- "disconnected " + p.Group.String() }
func (j journal) Holds(_ xds.Identity, state string) { j <- "holds " + state }
func (j journal) Leaves(xds.Identity)                {}
func (j journal) NACKed(_ xds.Identity, r xds.NACK) {
	note := ""
	for word, is := range map[string]bool{" filters": r.Filters, " together": r.Together} {
		if is {
			note += word
		}
	}
	j <- fmt.Sprintf("refused %s %s %s %v%s: %s", r.Type, r.Table, r.Name, r.Routes, note, r.Reason)
}

func (j journal) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := j.next(t); got != w {
			t.Fatalf("got %q, want %q", got, w)
		}
	}
}

func (j journal) next(t *testing.T) string {
	t.Helper()
	select {
	case got := <-j:
		return got
	case <-time.After(timeout):
		t.Fatal("the observer was told nothing more")
	}
	return ""
}

func (j journal) nothing(t *testing.T) {
	t.Helper()
	time.Sleep(quiet)
	synctest.Wait()
	select {
	case got := <-j:
		t.Fatalf("unexpected %q", got)
	default:
	}
}

// booted is a proxy that has everything: a listener with a route table and a certificate.
func booted(t *testing.T, j journal) (*control, *proxy) {
	t.Helper()
	c := start(t, options{observer: j})
	l := listener(t, "l1", "")
	l.Tables, l.Secrets = []string{"t1"}, []string{"s1"}
	state := c.cache.Apply([]xds.Change{
		cluster(t, group, "c1", ""), table(t, group, "t1"), host(t, "a.example", ""), secret(t, group, "s1", ""), l,
	})[group]
	p := c.connect(group)
	p.subscribe(clusterURL)
	p.expect(clusterURL, []string{"c1"}, nil)
	p.subscribe(listenerURL)
	p.expect(listenerURL, []string{"l1"}, nil)
	j.expect(t, "connected "+group.String())
	j.nothing(t) // the listener is acknowledged, but waits for its routes and its certificate
	p.subscribe(routeURL, "t1")
	p.expect(routeURL, []string{"t1"}, nil)
	j.nothing(t)
	p.subscribe(secretURL, "s1")
	p.expect(secretURL, []string{"s1"}, nil)
	j.expect(t, "holds "+state)
	return c, p
}

func TestAProxyHoldsAStateWhenItHasAcknowledgedAllThatItsListenersNeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := booted(t, j)
		state := c.cache.Apply([]xds.Change{host(t, "b.example", ""), cluster(t, group, "c2", "")})[group]
		p.expect(clusterURL, []string{"c2"}, nil)
		j.nothing(t)
		p.expect(routeURL, []string{"t1"}, nil)
		j.expect(t, "holds "+state)
		p.disconnect()
		j.expect(t, "disconnected "+group.String())
	})
}

func TestAProxyOfAGatewayWithoutAnythingHoldsThat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c := start(t, options{observer: j})
		p := c.connect(group)
		p.subscribe(clusterURL)
		p.expect(clusterURL, nil, nil)
		p.subscribe(listenerURL)
		p.expect(listenerURL, nil, nil)
		j.expect(t, "connected "+group.String(), "holds "+xds.EmptyState)
	})
}

func TestAStateHasTheSameNameHoweverItWasReached(t *testing.T) {
	t.Parallel()
	a, b := xds.NewCache(), xds.NewCache()
	first := a.Apply([]xds.Change{cluster(t, group, "c1", ""), table(t, group, "t1"), host(t, "a.example", "")})[group]
	b.Apply([]xds.Change{table(t, group, "t1"), host(t, "b.example", ""), host(t, "a.example", "old")})
	b.Apply([]xds.Change{removed(host(t, "b.example", "")), cluster(t, group, "c1", "old")})
	if second := b.Apply([]xds.Change{host(t, "a.example", ""), cluster(t, group, "c1", "")})[group]; first != second {
		t.Errorf("got %s and %s", first, second)
	}
}

func TestWhatOneProxyRefusesIsReplacedByTheLastThatWasTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := booted(t, j)
		state := c.cache.Apply([]xds.Change{cluster(t, group, "c1", "bad"), cluster(t, group, "c2", "")})[group]
		p.refuse(p.receive(), "Error adding/updating cluster(s) c1: no such thing")
		j.expect(t, "refused cluster  c1 []: no such thing")
		back := p.expect(clusterURL, []string{"c1"}, nil)
		j.expect(t, "holds "+state)

		fresh := c.connect(group)
		fresh.subscribe(clusterURL)
		if got := versions(fresh.expect(clusterURL, []string{"c1", "c2"}, nil))["c1"]; got != versions(back)["c1"] {
			t.Error("a fresh proxy got what another has refused")
		}
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "good")})
		p.expect(clusterURL, []string{"c1"}, nil)
	})
}

func TestWhatIsRefusedTogetherIsSentAgainInHalves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := booted(t, j)
		p.subscribe(secretURL, "s2", "s3", "s4", "s5")
		p.expect(secretURL, nil, []string{"s2", "s3", "s4", "s5"})
		c.cache.Apply(
			[]xds.Change{secret(t, group, "s2", ""), secret(t, group, "s3", ""), secret(t, group, "s4", "bad"), secret(t, group, "s5", "")},
		)
		all := p.receive()
		check(t, all, secretURL, []string{"s2", "s3", "s4", "s5"}, nil)
		p.refuse(all, "a bad one")
		p.expect(secretURL, []string{"s2", "s3"}, nil)
		half := p.receive()
		check(t, half, secretURL, []string{"s4", "s5"}, nil)
		p.refuse(half, "a bad one")
		one := p.receive()
		check(t, one, secretURL, []string{"s4"}, nil)
		p.refuse(one, "a bad one")
		// Envoy would acknowledge the bytes that it refused before.
		seen := map[string]bool{}
		for _, answer := range []*discoveryv3.DeltaDiscoveryResponse{all, half, one} {
			for _, resource := range answer.GetResources() {
				if resource.GetName() == "s4" {
					seen[string(resource.GetResource().GetValue())] = true
				}
			}
		}
		if len(seen) != 3 {
			t.Errorf("the refused secret was sent three times, with %d contents", len(seen))
		}
		j.expect(t, "refused secret  s4 []: the proxy rejected it (NACK); its reason is not repeated, since it may quote the secret")
	})
}

// The NACK may have gone to another replica; see TestAScopeThatWasRecordedOnAnotherStreamHasOtherBytes.
func TestASecretThatWasRecordedOnAnotherStreamHasOtherBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen [][]byte
		for range 2 {
			c, p := booted(t, make(journal, 100))
			p.subscribe(secretURL, "s2")
			p.expect(secretURL, nil, []string{"s2"})
			c.cache.Apply([]xds.Change{secret(t, group, "s2", "bad")})
			response := p.receive()
			check(t, response, secretURL, []string{"s2"}, nil)
			seen = append(seen, response.GetResources()[0].GetResource().GetValue())
		}
		if bytes.Equal(seen[0], seen[1]) {
			t.Error("the same bytes were sent again")
		}
	})
}

func TestNothingIsRemovedThatARefusedTableWasToReplace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := booted(t, j)
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), host(t, "a.example", "bad"), removed(cluster(t, group, "c1", ""))})
		p.expect(clusterURL, []string{"c2"}, nil)
		p.refuse(p.receive(), "no such thing")
		probes := p.receive()
		check(t, probes, listenerURL, []string{"probe/0"}, nil)
		p.refuse(probes, "Error adding/updating listener(s) probe/0: no such thing\n")
		j.expect(t, "refused virtual_host t1 a.example []: no such thing")
		p.expect(listenerURL, nil, []string{"probe/0"})
		p.hearsNothing()
		state := c.cache.Apply([]xds.Change{host(t, "a.example", "good")})[group]
		p.expect(routeURL, []string{"t1"}, nil)
		j.expect(t, "holds "+state)
		p.expect(clusterURL, nil, []string{"c1"})
	})
}

// answerProbes answers probes as Envoy would if it did not take routes whose name has `bad` in it, until they are removed.
func answerProbes(t *testing.T, p *proxy) int {
	t.Helper()
	for rounds := 1; ; rounds++ {
		response := p.receive()
		if response.GetTypeUrl() != listenerURL {
			t.Fatalf("got %s", response.GetTypeUrl())
		}
		if len(response.GetResources()) == 0 {
			p.acknowledge(response)
			return rounds
		}
		var complaint strings.Builder
		for _, probe := range response.GetResources() {
			if strings.Contains(string(probe.GetResource().GetValue()), "bad") {
				fmt.Fprintf(&complaint, "%s: no such thing\n", probe.GetName())
			}
		}
		if complaint.Len() == 0 {
			p.acknowledge(response)
		} else {
			p.refuse(response, "Error adding/updating listener(s) "+complaint.String())
		}
	}
}

func TestTheRouteThatSpoilsATableIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := booted(t, j)
		var changes []xds.Change
		for i := range 1000 {
			domain := fmt.Sprintf("%03d.example", i)
			message := &routev3.VirtualHost{Name: domain, Domains: []string{domain}}
			for k := range 20 {
				name := fmt.Sprintf("HTTPRoute/shop/%s/%d", domain, k)
				if i == 700 && k == 11 {
					name += "/bad"
				}
				message.Routes = append(message.Routes, &routev3.Route{Name: name})
			}
			changes = append(changes, xds.Change{Group: group, Type: xds.VirtualHost, Table: "t1", Name: domain, Resource: resource(t, message)})
		}
		c.cache.Apply(changes)
		p.refuse(p.receive(), "no such thing")
		if rounds := answerProbes(t, p); rounds > 8 {
			t.Errorf("it took %d rounds", rounds)
		}
		j.expect(t, "refused virtual_host t1 700.example [HTTPRoute/shop/700.example/11/bad]: no such thing")
	})
}

func TestTheFiltersThatSpoilAHostAreFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		filters := map[string]*anypb.Any{"auth": {TypeUrl: "type.googleapis.com/bad"}}
		message := &routev3.VirtualHost{
			Name: "b", Domains: []string{"b.example"}, Routes: []*routev3.Route{{Name: "HTTPRoute/shop/good/0"}}, TypedPerFilterConfig: filters,
		}
		c.cache.Apply([]xds.Change{{Group: group, Type: xds.VirtualHost, Table: "t1", Name: "b.example", Resource: resource(t, message)}})
		p.refuse(p.receive(), "no such thing")
		answerProbes(t, p)
		j.expect(t, "refused virtual_host t1 b.example [] filters: no such thing")
	})
}

func TestAHostWhoseRoutesAreRefusedOnlyTogetherIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		routes := []*routev3.Route{{Name: "HTTPRoute/shop/one/0"}, {Name: "HTTPRoute/shop/two/0"}}
		message := &routev3.VirtualHost{Name: "a", Domains: []string{"a.example"}, Routes: routes}
		change := xds.Change{Group: group, Type: xds.VirtualHost, Table: "t1", Name: "a.example", Resource: resource(t, message)}
		c.cache.Apply([]xds.Change{change})
		p.refuse(p.receive(), "no such thing")
		first := p.receive()
		check(t, first, listenerURL, []string{"probe/0"}, nil)
		p.refuse(first, "Error adding/updating listener(s) probe/0: no such thing\n")
		answerProbes(t, p)
		j.expect(t, "refused virtual_host t1 a.example [HTTPRoute/shop/one/0 HTTPRoute/shop/two/0] together: no such thing")
		j.nothing(t)
		next := c.cache.Apply([]xds.Change{host(t, "a.example", "better")})[group]
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
		j.expect(t, "holds "+next)
	})
}

// restless writes down everything.
type restless struct{ journal }

func (r restless) Leaves(xds.Identity) { r.journal <- "leaves" }

func TestAStateThatComesBackIsReportedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := restless{make(journal, 100)}
		c := start(t, options{observer: j})
		first := c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})[group]
		p := c.connect(group)
		p.subscribe(clusterURL)
		p.expect(clusterURL, []string{"c1"}, nil)
		p.subscribe(listenerURL)
		p.expect(listenerURL, nil, nil)
		j.expect(t, "connected "+group.String(), "holds "+first)
		second := c.cache.Apply([]xds.Change{cluster(t, group, "c1", "other")})[group]
		j.expect(t, "leaves")
		other := p.receive()
		if again := c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})[group]; again != first {
			t.Fatalf("the same content is called %s and %s", first, again)
		}
		j.nothing(t)
		p.acknowledge(other)
		j.expect(t, "holds "+second, "leaves")
		p.expect(clusterURL, []string{"c1"}, nil)
		j.expect(t, "holds "+first)
	})
}

func TestWhatComesAfterANACKCanBeRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		c.cache.Apply([]xds.Change{host(t, "b.example", "bad"), removed(cluster(t, group, "c1", ""))})
		p.refuse(p.receive(), "no such thing")
		answerProbes(t, p)
		c.cache.Apply([]xds.Change{cluster(t, group, "c2", ""), host(t, "a.example", "uses c2")})
		p.expect(clusterURL, []string{"c2"}, nil)
		p.expect(scopeURL, []string{"t1|a.example"}, nil)
		c.cache.Apply([]xds.Change{removed(cluster(t, group, "c2", "")), removed(host(t, "a.example", ""))})
		p.expect(scopeURL, nil, []string{"t1|a.example"})
		p.expect(clusterURL, nil, []string{"c2"})
		p.hearsNothing()
	})
}

func TestANACKNamesAResourceOnlyAtTheBeginningOfALine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c := start(t, options{observer: j})
		c.cache.Apply([]xds.Change{cluster(t, group, "shop/web", ""), cluster(t, group, "prod-shop/web", "")})
		p := c.connect(group)
		p.subscribe(clusterURL)
		p.refuse(p.receive(), "Error adding/updating cluster(s) prod-shop/web: no such thing")
		j.expect(t, "connected "+group.String(), "refused cluster  prod-shop/web []: no such thing")
		j.nothing(t)
	})
}

// origins records those of NACKs.
type origins struct {
	journal
	seen chan string
}

func (o origins) NACKed(_ xds.Identity, r xds.NACK) {
	o.seen <- fmt.Sprintf("%s %s %v", r.Type, r.Name, r.Origins)
}

// TestANACKHasTheOriginsOfTheVersionThatWasRejected: by then the group may have another version.
func TestANACKHasTheOriginsOfTheVersionThatWasRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := origins{make(journal, 100), make(chan string, 100)}
		c := start(t, options{observer: o})
		p := boot(t, c)
		bad, better := listener(t, "l1", "bad"), listener(t, "l1", "better")
		bad.Origins, better.Origins = []string{"XTelemetryPolicy/shop/bad"}, []string{"XTelemetryPolicy/shop/better"}
		c.cache.Apply([]xds.Change{bad})
		rejected := p.receive()
		c.cache.Apply([]xds.Change{better})
		p.refuse(rejected, "no such thing")
		if got := <-o.seen; got != "listener l1 [XTelemetryPolicy/shop/bad]" {
			t.Errorf("got %q", got)
		}
		if got := c.cache.Origins(group, xds.NACK{Type: xds.Listener, Name: "l1"}); !equal(got, better.Origins) {
			t.Errorf("the group has %q", got)
		}
	})
}
