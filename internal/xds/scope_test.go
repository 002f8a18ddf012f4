package xds_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/xds"
)

const scopeURL = "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration"

// scoped is a proxy with an anchor, whose listener looks for virtual hosts in scopes.
func scoped(t *testing.T, j journal) (*control, *proxy) {
	t.Helper()
	return scopedAs(t, j, true)
}

func scopedAs(t *testing.T, j journal, anchored bool) (*control, *proxy) {
	t.Helper()
	c := start(t, options{observer: j})
	l := scopedListener(t, "")
	state := c.cache.Apply(
		[]xds.Change{cluster(t, group, "c1", ""), table(t, group, "t1"), host(t, "a.example", ""), host(t, "*.example", ""), l},
	)[group]
	p := c.connect(group)
	p.introduce(clusterURL, anchored, nil)
	p.expect(clusterURL, []string{"c1"}, nil)
	p.subscribe(listenerURL)
	p.expect(listenerURL, []string{"l1"}, nil)
	j.expect(t, "connected "+group.String())
	j.nothing(t)
	p.subscribe(scopeURL)
	p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
	j.expect(t, "holds "+state)
	return c, p
}

func scopedListener(t *testing.T, note string) xds.Change {
	t.Helper()
	l := listener(t, "l1", note)
	l.Scopes = true
	return l
}

// introduce sends the first request of a stream, which has the node.
func (p *proxy) introduce(url string, anchored bool, versions map[string]string) {
	p.t.Helper()
	node := &corev3.Node{Id: pod, Cluster: group.String(), Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
		xds.AnchorMetadata: structpb.NewBoolValue(anchored),
	}}}
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: url, Node: node, InitialResourceVersions: versions})
}

func TestAHostThatChangesIsSentAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		added := c.cache.Apply([]xds.Change{host(t, "b.example", "")})[group]
		response := p.expect(scopeURL, []string{"t1|b.example"}, nil)
		message := &routev3.ScopedRouteConfiguration{}
		if err := response.GetResources()[0].GetResource().UnmarshalTo(message); err != nil {
			t.Fatal(err)
		}
		inside := message.GetRouteConfiguration()
		if message.GetKey().GetFragments()[0].GetStringKey() != "t1|b.example" ||
			inside.GetName() != "t1" || len(inside.GetVirtualHosts()) != 1 ||
			inside.GetVirtualHosts()[0].GetDomains()[0] != "b.example" {
			t.Errorf("got %v", message)
		}
		j.expect(t, "holds "+added)
		state := c.cache.Apply([]xds.Change{host(t, "*.other", ""), removed(host(t, "b.example", ""))})[group]
		p.expect(scopeURL, []string{"t1|*"}, nil)
		j.expect(t, "holds "+state)
		p.expect(scopeURL, nil, []string{"t1|b.example"})
	})
}

func TestScopesComeBeforeTheListenerThatAsksForThemAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		state := c.cache.Apply([]xds.Change{host(t, "b.example", ""), scopedListener(t, "changed")})[group]
		scopes := p.receive()
		check(t, scopes, scopeURL, []string{"t1|b.example"}, nil)
		p.hearsNothing()
		p.acknowledge(scopes)
		p.expect(listenerURL, []string{"l1"}, nil)
		j.expect(t, "holds "+state)
		p.hearsNothing()
	})
}

func TestTheRouteThatSpoilsAScopeIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		message := &routev3.VirtualHost{
			Name: "b", Domains: []string{"b.example"}, Routes: []*routev3.Route{{Name: "HTTPRoute/shop/good/0"}, {Name: "HTTPRoute/shop/bad/0"}},
		}
		c.cache.Apply(
			[]xds.Change{
				{Group: group, Type: xds.VirtualHost, Table: "t1", Name: "b.example", Resource: resource(t, message)}, host(t, "c.example", ""),
			},
		)
		both := p.receive()
		check(t, both, scopeURL, []string{"t1|b.example", "t1|c.example"}, nil)
		p.refuse(both, "no such thing")
		one := p.receive()
		check(t, one, scopeURL, []string{"t1|b.example"}, nil)
		p.refuse(one, "no such thing")
		p.expect(scopeURL, []string{"t1|c.example"}, nil)
		answerProbes(t, p)
		j.expect(t, "refused virtual_host t1 b.example [HTTPRoute/shop/bad/0]: no such thing")
	})
}

// Envoy sends nothing when its last listener that uses scopes is gone, nor when the next one comes. What it receives in between it drops,
// and acknowledges.
func TestAProxyWithoutAnAnchorIsSentAllScopesBehindAListenerThatUsesThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scopedAs(t, j, false)
		plain := listener(t, "l1", "plain")
		plain.Tables = []string{"t1"}
		without := c.cache.Apply([]xds.Change{removed(host(t, "a.example", "")), plain})[group]
		p.expect(listenerURL, []string{"l1"}, nil)
		p.expect(scopeURL, nil, []string{"t1|a.example"})
		p.subscribe(routeURL, "t1")
		p.expect(routeURL, []string{"t1"}, nil)
		j.expect(t, "holds "+without)
		// Here the old filter chain ends, and with it the watch. There is no message.
		state := c.cache.Apply([]xds.Change{host(t, "b.example", ""), scopedListener(t, "")})[group]
		p.expect(scopeURL, []string{"t1|b.example"}, nil) // dropped
		looking := p.receive()                            // the watch is there now; again there is no message
		check(t, looking, listenerURL, []string{"l1"}, nil)
		p.expect(routeURL, []string{"t1"}, nil)
		all := p.receive()
		check(t, all, scopeURL, []string{"t1|*", "t1|b.example"}, nil)
		p.acknowledge(looking)
		j.nothing(t)
		p.acknowledge(all)
		j.expect(t, "holds "+state)
		p.hearsNothing()
	})
}

func TestTheFirstScopesBehindAListenerAreAllOfThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := scopedAs(t, make(journal, 100), false)
		c.cache.Apply([]xds.Change{host(t, "b.example", ""), scopedListener(t, "another")})
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		looking := p.receive()
		check(t, looking, listenerURL, []string{"l1"}, nil)
		c.cache.Apply([]xds.Change{host(t, "c.example", "")})
		p.expect(scopeURL, []string{"t1|*", "t1|a.example", "t1|b.example"}, nil)
		p.acknowledge(looking)
		p.expect(scopeURL, []string{"t1|c.example"}, nil)
	})
}

func TestScopesFollowAListenerThatComesAfterARefusedOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := scopedAs(t, make(journal, 100), false)
		for _, note := range []string{"bad", "good"} {
			c.cache.Apply([]xds.Change{scopedListener(t, note)})
			looking := p.receive()
			check(t, looking, listenerURL, []string{"l1"}, nil)
			p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
			if note == "bad" {
				p.refuse(looking, "l1: no such thing")
				p.expect(listenerURL, []string{"l1"}, nil)
				p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
				continue
			}
			p.acknowledge(looking)
		}
		p.hearsNothing()
	})
}

func TestVersionsOfScopesAreTrustedOnlyWithAnAnchor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		anchored bool
		again    []string
	}{
		{"with an anchor only what changed is sent", true, nil},
		{"without an anchor all are sent", false, []string{"t1|*", "t1|a.example"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := make(journal, 100)
				c, p := scopedAs(t, j, test.anchored)
				versions := map[string]string{"t1|gone.example": "v1"}
				for _, r := range p.last[scopeURL].GetResources() {
					versions[r.GetName()] = r.GetVersion()
				}
				p.disconnect()
				next := c.connect(group)
				next.introduce(clusterURL, test.anchored, nil)
				next.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopeURL, InitialResourceVersions: versions})
				next.subscribe(listenerURL)
				next.expect(clusterURL, []string{"c1"}, nil)
				if len(test.again) > 0 {
					next.expect(scopeURL, test.again, nil)
				}
				next.expect(listenerURL, []string{"l1"}, nil)
				if !test.anchored {
					next.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
				}
				next.expect(scopeURL, nil, []string{"t1|gone.example"})
				next.hearsNothing()
			})
		})
	}
}

// Envoy records the scopes before a bad one without using them, and takes the same bytes for what it has.
func TestScopesThatAreSentAgainAfterANACKHaveOtherBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := scoped(t, make(journal, 100))
		c.cache.Apply([]xds.Change{host(t, "b.example", ""), host(t, "c.example", "")})
		both := p.receive()
		check(t, both, scopeURL, []string{"t1|b.example", "t1|c.example"}, nil)
		p.refuse(both, "t1|c.example: no such thing")
		again := p.expect(scopeURL, []string{"t1|b.example"}, nil)
		first, second := both.GetResources()[0], again.GetResources()[0]
		if first.GetVersion() != second.GetVersion() || proto.Equal(first.GetResource(), second.GetResource()) {
			t.Error("the same bytes were sent again")
		}
		message := &routev3.ScopedRouteConfiguration{}
		if err := second.GetResource().UnmarshalTo(message); err != nil {
			t.Fatal(err)
		}
		if inside := message.GetRouteConfiguration(); inside.GetName() != "t1" || len(inside.GetVirtualHosts()) != 1 {
			t.Errorf("got %v", message)
		}
		p.expect(scopeURL, []string{"t1|c.example"}, nil)
	})
}

// A response that is refused without a name is sent again in parts. Until all parts are acknowledged, the proxy does not have the state.
func TestAStateIsNotHeldWhilePartsOfARefusedResponseAreOutstanding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		state := c.cache.Apply([]xds.Change{host(t, "b.example", ""), host(t, "c.example", ""), removed(host(t, "a.example", ""))})[group]
		both := p.receive()
		check(t, both, scopeURL, []string{"t1|b.example", "t1|c.example"}, nil)
		p.refuse(both, "no such thing")
		half := p.receive()
		j.nothing(t)
		p.acknowledge(half)
		rest := p.receive()
		check(t, rest, scopeURL, []string{"t1|c.example"}, nil)
		j.nothing(t)
		p.acknowledge(rest)
		j.expect(t, "holds "+state)
	})
}

func TestARefusedScopeThatIsDeletedHoldsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		c.cache.Apply([]xds.Change{host(t, "b.example", ""), removed(host(t, "a.example", ""))})
		one := p.receive()
		check(t, one, scopeURL, []string{"t1|b.example"}, nil)
		p.refuse(one, "no such thing")
		p.expect(listenerURL, []string{"probe/0"}, nil)
		p.expect(listenerURL, nil, []string{"probe/0"})
		j.expect(t, "refused virtual_host t1 b.example [] together: no such thing")
		state := c.cache.Apply([]xds.Change{removed(host(t, "b.example", ""))})[group]
		p.expect(scopeURL, nil, []string{"t1|a.example", "t1|b.example"})
		j.expect(t, "holds "+state)
	})
}

// A listener that looks for its hosts in a route table from now on would find none, since the table is refused as a whole for the host that
// the scope was refused for.
func TestAListenerWaitsUntilItIsKnownWhatBecomesOfARefusedScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		routes := []*routev3.Route{{Name: "HTTPRoute/shop/bad/0"}}
		bad := xds.Change{
			Group: group, Type: xds.VirtualHost, Table: "t1", Name: "b.example",
			Resource: resource(t, &routev3.VirtualHost{Name: "b", Routes: routes}),
		}
		plain := listener(t, "l1", "plain")
		plain.Tables = []string{"t1"}
		c.cache.Apply([]xds.Change{bad, plain})
		p.refuse(p.receive(), "no such thing")
		answerProbes(t, p)
		j.expect(t, "refused virtual_host t1 b.example [HTTPRoute/shop/bad/0]: no such thing")
		p.hearsNothing()
		// What waits may change.
		c.cache.Apply([]xds.Change{removed(plain)})
		state := c.cache.Apply([]xds.Change{host(t, "b.example", ""), plain})[group]
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		p.expect(listenerURL, []string{"l1"}, nil)
		p.subscribe(routeURL, "t1")
		p.expect(routeURL, []string{"t1"}, nil)
		j.expect(t, "holds "+state)
	})
}

func TestAListenerThatComesBackWhileItsRemovalWaitsIsNotRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := scoped(t, make(journal, 100))
		c.cache.Apply([]xds.Change{host(t, "b.example", ""), removed(scopedListener(t, ""))})
		late := p.receive()
		check(t, late, scopeURL, []string{"t1|b.example"}, nil)
		c.cache.Apply([]xds.Change{scopedListener(t, "")})
		p.refuse(late, "no such thing")
		answerProbes(t, p)
		c.cache.Apply([]xds.Change{host(t, "b.example", "better")})
		p.expect(scopeURL, []string{"t1|b.example"}, nil)
		p.hearsNothing()
	})
}

// The stream on which Envoy recorded a scope breaks. The next one is to a replica that does not know of the NACK, and sends that scope when
// Envoy has acknowledged others.
func TestAScopeThatWasRecordedOnAnotherStreamHasOtherBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, p := scoped(t, make(journal, 100))
		first.cache.Apply([]xds.Change{host(t, "b.example", ""), host(t, "c.example", "bad")})
		both := p.receive()
		check(t, both, scopeURL, []string{"t1|b.example", "t1|c.example"}, nil)
		p.refuse(both, "no such thing")
		p.disconnect()

		second, p := scoped(t, make(journal, 100))
		second.cache.Apply([]xds.Change{host(t, "d.example", "")})
		p.expect(scopeURL, []string{"t1|d.example"}, nil)
		second.cache.Apply([]xds.Change{host(t, "b.example", "")})
		again := p.expect(scopeURL, []string{"t1|b.example"}, nil)
		if proto.Equal(both.GetResources()[0].GetResource(), again.GetResources()[0].GetResource()) {
			t.Error("the same bytes were sent again")
		}
	})
}

// Envoy skips a scope whose bytes it has, so all streams but the first would make it build everything twice.
func TestTheSameScopeHasTheSameBytesOnAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := scopedAs(t, make(journal, 100), false)
		var seen [][]byte
		for _, note := range []string{"one", "two"} {
			c.cache.Apply([]xds.Change{scopedListener(t, note)})
			p.expect(listenerURL, []string{"l1"}, nil)
			scopes := p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
			seen = append(seen, scopes.GetResources()[1].GetResource().GetValue())
		}
		if !bytes.Equal(seen[0], seen[1]) {
			t.Error("the same scope was sent with other bytes")
		}
	})
}

// A scope that Envoy has recorded and not used goes, and comes back when all others of the refused response are settled.
func TestAScopeThatComesBackAfterANACKHasOtherBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := scoped(t, make(journal, 100))
		c.cache.Apply([]xds.Change{host(t, "b.example", ""), host(t, "c.example", "")})
		both := p.receive()
		check(t, both, scopeURL, []string{"t1|b.example", "t1|c.example"}, nil)
		c.cache.Apply([]xds.Change{removed(host(t, "b.example", ""))})
		p.refuse(both, "no such thing")
		p.expect(scopeURL, []string{"t1|c.example"}, nil)
		p.expect(scopeURL, nil, []string{"t1|b.example"})
		c.cache.Apply([]xds.Change{host(t, "b.example", "")})
		again := p.expect(scopeURL, []string{"t1|b.example"}, nil)
		if proto.Equal(both.GetResources()[0].GetResource(), again.GetResources()[0].GetResource()) {
			t.Error("the same bytes were sent again")
		}
	})
}
