package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// calls are the names of what was called, each once where several calls follow each other.
type calls []string

func (c *calls) add(name string) {
	if len(*c) == 0 || (*c)[len(*c)-1] != name {
		*c = append(*c, name)
	}
}

// called writes down the calls of a step, whatever they are about.
type called struct {
	discard
	*calls
}

func (c called) Live(store.Kind, string, string) bool                 { c.add("live"); return true }
func (c called) Reach(map[xds.GroupID]string, time.Time)              { c.add("reach") }
func (c called) Set(ir.Gateway)                                       { c.add("fleets") }
func (c called) SetGateway(string, outcome.Gateway)                   { c.add("statuses") }
func (c called) SetRoute(store.Kind, string, outcome.Route)           { c.add("statuses") }
func (c called) SetPolicy(store.Kind, string, outcome.Policy)         { c.add("statuses") }
func (c called) Reject(store.Kind, string, string, outcome.Rejection) { c.add("refuse") }

type calledProxies struct {
	*xds.Cache
	*calls
}

func (c calledProxies) Own(group xds.GroupID, owner string) {
	c.add("owners")
	c.Cache.Own(group, owner)
}

func (c calledProxies) Apply(changes []xds.Change) map[xds.GroupID]string {
	c.add("proxies")
	return c.Cache.Apply(changes)
}

type calledSelectors struct {
	discardSelectors
	*calls
}

func (c calledSelectors) Set(ir.Selector) { c.add("selectors") }

// TestTheOrderOfPublishing does everything in one step: a route and a Gateway change, an XBackend comes, and another route is refused.
func TestTheOrderOfPublishing(t *testing.T) {
	t.Parallel()
	var seen calls
	record := called{calls: &seen}
	p := New(Outputs{
		Proxies: calledProxies{xds.NewCache(), &seen}, Fleets: record, Selectors: calledSelectors{calls: &seen},
		Statuses: record, Convergence: record, Peers: discard{},
	}, prometheus.NewRegistry())
	gateway := func(generation, port string) string {
		return `
kind: Gateway
metadata: {namespace: infra, name: web, generation: ` + generation + `}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}, {name: more, port: ` + port + `, protocol: HTTP}]}
`
	}
	other := func(generation, backend string) string {
		return `
kind: HTTPRoute
metadata: {namespace: infra, name: other, generation: ` + generation + `}
spec:
  parentRefs: [{name: web}]
  rules: [{matches: [{path: {value: /other}}], backendRefs: [` + backend + `]}]
`
	}
	put(t, p, base+gateway("1", "81"))
	put(t, p, aRoute(1, "/bad"))
	put(t, p, other("1", "{name: v2, port: 80}"))
	p.Start()

	nackHost(p, "infra/web", nil)
	put(t, p, gateway("2", "82"))
	put(t, p, other("2", "{group: gateway.networking.x-k8s.io, kind: XBackend, name: pods}"))
	put(t, p, `
kind: XBackend
metadata: {namespace: infra, name: pods, generation: 1, uid: u}
spec: {type: EndpointSelector, port: {number: 8080}, endpointSelector: {matchLabels: {app: pods}}}
`)
	seen = nil
	p.config.step()
	want := calls{"live", "owners", "proxies", "reach", "fleets", "selectors", "statuses", "refuse"}
	if !slices.Equal(seen, want) {
		t.Errorf("the calls were %v, want %v", seen, want)
	}
}

// ownedProxies records what becomes of groups, in order.
type ownedProxies struct {
	*xds.Cache
	*calls
}

func (o ownedProxies) Own(group xds.GroupID, owner string) { o.add(group.String() + " is of " + owner) }

func (o ownedProxies) Apply(changes []xds.Change) map[xds.GroupID]string {
	for _, change := range changes {
		o.add(change.Type.String() + " of " + change.Group.String())
	}
	return o.Cache.Apply(changes)
}

// TestTheOwnerOfANameIsKnownBeforeItsResources makes a Gateway again under its name, within one step and over two.
func TestTheOwnerOfANameIsKnownBeforeItsResources(t *testing.T) {
	t.Parallel()
	gateway := func(uid, port string) string {
		return `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1, uid: ` + uid + `}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: ` + port + `, protocol: HTTP}]}
`
	}
	var seen calls
	out := discardAll()
	out.Proxies = ownedProxies{xds.NewCache(), &seen}
	p := New(out, prometheus.NewRegistry())
	put(t, p, base+gateway("first", "80"))
	p.Start()
	gone := store.Change{Kind: store.Gateway, Key: "infra/web"}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"another listener", func() { put(t, p, gateway("first", "81")) }, "infra/web is of first"},
		{"within one step", func() { p.Put(gone); put(t, p, gateway("second", "82")) }, "infra/web is of second"},
		{"gone", func() { p.Put(gone) }, "infra/web is of "},
		{"here again", func() { put(t, p, gateway("third", "83")) }, "infra/web is of third"},
		{
			"with another class", func() { put(t, p, strings.ReplaceAll(gateway("fourth", "84"), "gatewright", "other")) },
			"infra/web is of fourth",
		},
	} {
		seen = nil
		step.do()
		p.config.step()
		if len(seen) < 2 || seen[0] != step.want || !slices.Contains(seen, "listener of infra/web") {
			t.Errorf("%s: the calls were %q, want %q and then listeners", step.name, seen, step.want)
		}
		for _, later := range seen[1:] {
			if strings.Contains(later, " is of ") {
				t.Errorf("%s: the owner is set after resources: %q", step.name, seen)
			}
		}
	}
}
