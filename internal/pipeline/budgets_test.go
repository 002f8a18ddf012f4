package pipeline

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/endpoints"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// wideRoute has no hostname and as many matches as definitions allow.
func wideRoute(generation int) string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"kind: HTTPRoute\nmetadata: {namespace: infra, name: wide, generation: %d}\nspec:\n  parentRefs: [{name: web}]\n  rules:\n",
		generation,
	)
	for rule := range 2 {
		b.WriteString("  - matches:\n")
		for match := range 64 {
			fmt.Fprintf(&b, "    - path: {type: PathPrefix, value: /wide/%d/%d/%d}\n", rule, match, generation)
		}
		b.WriteString("    backendRefs: [{name: v1, port: 80}]\n")
	}
	return b.String()
}

func hostRoute(i int, hostname string) string {
	return fmt.Sprintf(`
kind: HTTPRoute
metadata: {namespace: infra, name: r%d, generation: 1, creationTimestamp: "2026-01-01T00:00:%02dZ"}
spec: {parentRefs: [{name: web}], hostnames: ["%s"], rules: [{backendRefs: [{name: v1, port: 80}]}]}
`, i, i%60, hostname)
}

const webGateway = base + `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
`

// One wide route costs one host, however many narrower ones there are.
func TestAWideRouteIsNotCopiedIntoNarrowerHosts(t *testing.T) {
	t.Parallel()
	g := newGraph()
	load := func(objects string) {
		for _, c := range resolvetest.Load(t, objects) {
			g.objects.Apply(c)
		}
	}
	load(webGateway + wideRoute(1))
	for i := range 200 {
		load(hostRoute(i, fmt.Sprintf("h%d.example.com", i)))
	}
	g.memo.Run()
	g.resourceChanges()
	host, _ := g.hosts.Get(nil, ir.ParseHostID("infra/web/80|h7.example.com"))
	if len(host.Rules) != 1 || !host.FallsThrough {
		t.Errorf("h7.example.com has %d rules and falls through: %v", len(host.Rules), host.FallsThrough)
	}

	load(wideRoute(2))
	report := g.memo.Run()
	if n := report.Computed[stageVirtualHost]; n != 1 {
		t.Errorf("an edit of the wide route computes %d hosts", n)
	}
	changes, _ := g.resourceChanges()
	if len(changes) != 1 || changes[0].Type != xds.VirtualHost || changes[0].Name != "*" {
		t.Errorf("an edit of the wide route changes %d resources", len(changes))
	}
}

// A host whose listener is for it alone does not fall through to others.
func TestAHostWithAListenerOfItsOwnDoesNotFallThrough(t *testing.T) {
	t.Parallel()
	g := newGraph()
	for _, c := range resolvetest.Load(t, base+`
kind: Gateway
metadata: {namespace: infra, name: web}
spec:
  gatewayClassName: gatewright
  listeners:
  - {name: any, port: 80, protocol: HTTP}
  - {name: own, port: 80, protocol: HTTP, hostname: own.example.com}
  - {name: wild, port: 80, protocol: HTTP, hostname: "*.wild.example.com"}
---`+hostRoute(1, "own.example.com")+"---"+hostRoute(2, "a.wild.example.com")+"---"+hostRoute(3, "b.example.com")) {
		g.objects.Apply(c)
	}
	g.memo.Run()
	for domain, want := range map[string]bool{
		"own.example.com": false, "a.wild.example.com": true, "b.example.com": true, "*": false,
		"*.wild.example.com": false,
	} {
		if host, ok := g.hosts.Get(nil, ir.ParseHostID("infra/web/80|"+domain)); !ok || host.FallsThrough != want {
			t.Errorf("%s falls through: %v, want %v", domain, host.FallsThrough, want)
		}
	}
}

// limited is a pipeline with small limits, and what it says.
func limited(t *testing.T, change func(*limits.Limits), objects ...string) (*Pipeline, *recorder) {
	t.Helper()
	l := &recorder{offers: map[string][]byte{}}
	out := discardAll()
	out.Statuses, out.Convergence, out.Peers = l, l, l
	set := limits.Defaults()
	change(&set)
	p := New(out, prometheus.NewRegistry(), WithLimits(set))
	put(t, p, strings.Join(objects, "\n---\n"))
	p.Start()
	return p, l
}

func (l *recorder) refused(t *testing.T, route, word string) {
	t.Helper()
	for _, said := range l.said {
		if strings.HasPrefix(said, "refuse HTTPRoute "+route+" ") && strings.Contains(said, word) {
			return
		}
	}
	t.Errorf("%s does not report %q: %q", route, word, l.said)
}

func TestRulesOfWideRoutesAreRepeatedOnlySoOften(t *testing.T) {
	t.Parallel()
	objects := []string{webGateway + wideRoute(1)}
	for i := range 5 {
		objects = append(objects, hostRoute(i, fmt.Sprintf("*.w%d.example.com", i)))
	}
	p, l := limited(t, func(l *limits.Limits) { l.RepeatedRules = 600 }, objects...)
	l.refused(t, "infra/wide", "repeatedRules")
	narrow, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|*.w1.example.com"))
	wide, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|*"))
	if len(narrow.Rules) != 2 || narrow.Rules[1].Fail == nil || len(wide.Rules) != 128 {
		t.Errorf("the narrower host has the rules %v, the wide one %d", narrow.Rules, len(wide.Rules))
	}
	p, _ = limited(t, func(*limits.Limits) {}, objects...)
	if narrow, _ = p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|*.w1.example.com")); len(narrow.Rules) != 129 {
		t.Errorf("within the limit, the narrower host has %d rules", len(narrow.Rules))
	}
}

func TestAHostHasRoomForSoManyRules(t *testing.T) {
	t.Parallel()
	p, l := limited(t, func(l *limits.Limits) { l.HostRules = 2 },
		webGateway+hostRoute(1, "a.example.com"), hostRoute(2, "a.example.com"), hostRoute(3, "a.example.com"), hostRoute(4, "b.example.com"))
	l.refused(t, "infra/r3", "hostRules")
	if host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|a.example.com")); len(host.Rules) != 3 || host.Rules[1].Fail != nil ||
		host.Rules[2].Fail == nil {
		t.Errorf("the host has the rules %v", host.Rules)
	}
	put(t, p, strings.Replace(hostRoute(1, "a.example.com"), "spec: {parentRefs: [{name: web}]", "spec: {parentRefs: [{name: other}]", 1))
	p.config.step()
	if host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|a.example.com")); len(host.Rules) != 2 || len(host.Beyond) != 0 {
		t.Errorf("with one less, the host has %d rules and no room for %v", len(host.Rules), host.Beyond)
	}
}

func TestAGatewayTakesSoManyRoutesOfANamespace(t *testing.T) {
	t.Parallel()
	p, _ := limited(t, func(l *limits.Limits) { l.Routes = 2 },
		webGateway+hostRoute(1, "a.example.com"), hostRoute(2, "b.example.com"), hostRoute(3, "c.example.com"))
	for name, want := range map[string]outcome.State{"r1": outcome.True, "r2": outcome.True, "r3": outcome.False} {
		r, _ := p.graph.routes.Get(nil, string(store.HTTPRoute)+"/infra/"+name)
		if got := r.Outcome.Parents[0].Conditions[0]; got.State != want {
			t.Errorf("%s is accepted: %+v", name, got)
		}
	}
	host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|c.example.com"))
	if len(host.Rules) != 1 || host.Rules[0].Fail == nil {
		t.Errorf("the host of the route that is not accepted has the rules %v", host.Rules)
	}
}

// accepted says which of the routes r1, r2, … of namespace infra a Gateway accepts, and what it says to the last.
func accepted(t *testing.T, p *Pipeline, routes int) (states []outcome.State, message string) {
	t.Helper()
	for i := range routes {
		r, _ := p.graph.routes.Get(nil, fmt.Sprintf("HTTPRoute/infra/r%d", i+1))
		got := r.Outcome.Parents[0].Conditions[0]
		states, message = append(states, got.State), got.Message
	}
	return states, message
}

func TestTheRoutesOfANamespaceHaveRoomForSoMuchAtAGateway(t *testing.T) {
	t.Parallel()
	two := strings.Replace(hostRoute(2, "b.example.com"), `["b.example.com"]`, `["b.example.com", "c.example.com"]`, 1)
	expression := func(i int) string {
		return strings.Replace(
			hostRoute(i, "a.example.com"),
			"rules: [{",
			`rules: [{matches: [{path: {type: RegularExpression, value: "/[a-z]{9}"}}], `,
			1,
		)
	}
	other := func(i int, service string) string {
		return strings.Replace(hostRoute(i, "a.example.com"), "name: v1", "name: "+service, 1)
	}
	for _, c := range []struct {
		name    string
		limit   func(*limits.Limits)
		objects []string
		want    []outcome.State
		word    string
	}{
		{
			"rules count for each hostname", func(l *limits.Limits) { l.Rules = 3 },
			[]string{hostRoute(1, "a.example.com"), two, hostRoute(3, "d.example.com")},
			[]outcome.State{outcome.True, outcome.True, outcome.False},
			"limit rules",
		},
		{
			"all together fit", func(l *limits.Limits) { l.Rules = 4 },
			[]string{hostRoute(1, "a.example.com"), two, hostRoute(3, "d.example.com")},
			[]outcome.State{outcome.True, outcome.True, outcome.True},
			"",
		},
		{
			"expressions", func(l *limits.Limits) { l.NamespaceExpressions = 50 },
			[]string{expression(1), expression(2), hostRoute(3, "a.example.com")},
			[]outcome.State{outcome.True, outcome.True, outcome.True},
			"",
		},
		{
			"too many expressions", func(l *limits.Limits) { l.NamespaceExpressions = 20 },
			[]string{expression(1), expression(2)},
			[]outcome.State{outcome.True, outcome.False},
			"limit namespaceExpressions",
		},
		{
			"a backend that several routes use counts once", func(l *limits.Limits) { l.Backends = 1 },
			[]string{other(1, "v1"), other(2, "v1"), other(3, "v2")},
			[]outcome.State{outcome.True, outcome.True, outcome.False},
			"limit backends",
		},
		{
			"the limit that is met first counts", func(l *limits.Limits) { l.Backends, l.Rules = 1, 2 },
			[]string{other(1, "v1"), other(2, "v1"), other(3, "v1"), other(4, "v2")},
			[]outcome.State{outcome.True, outcome.True, outcome.False, outcome.False},
			"limit rules",
		},
		{
			"a route without expressions is not beyond the limit of expressions", func(l *limits.Limits) { l.NamespaceExpressions = 20 },
			[]string{expression(1), expression(2), hostRoute(3, "a.example.com")},
			[]outcome.State{outcome.True, outcome.False, outcome.True},
			"",
		},
		{
			"more than can answer errors", func(l *limits.Limits) { l.Routes = 1 },
			[]string{hostRoute(1, "a.example.com"), hostRoute(2, "a.example.com"), hostRoute(3, "a.example.com")},
			[]outcome.State{outcome.False, outcome.False, outcome.False},
			"and is left out",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, _ := limited(t, c.limit, webGateway+strings.Join(c.objects, "\n---\n"))
			states, message := accepted(t, p, len(c.objects))
			if !slices.Equal(states, c.want) || !strings.Contains(message, c.word) {
				t.Errorf("accepted: %v, want %v; the last reports %q", states, c.want, message)
			}
		})
	}
}

// What is refused for a limit stays as it is when more comes: otherwise each further route would rewrite the status of all.
func TestOneMoreRouteBeyondALimitChangesNoOther(t *testing.T) {
	t.Parallel()
	p, _ := limited(t, func(l *limits.Limits) { l.Routes = 2 },
		webGateway+hostRoute(1, "a.example.com"), hostRoute(2, "b.example.com"), hostRoute(3, "c.example.com"))
	_, before := accepted(t, p, 3)
	put(t, p, hostRoute(4, "d.example.com"))
	report := p.config.step()
	if n := report.Changed[stageRouteConflict]; n != 1 {
		t.Errorf("one more route changes %d routes", n)
	}
	if _, after := accepted(t, p, 3); after != before || before == "" {
		t.Errorf("the third route reports %q, then %q", before, after)
	}
	if states, _ := accepted(t, p, 4); !slices.Equal(states, []outcome.State{outcome.True, outcome.True, outcome.False, outcome.False}) {
		t.Errorf("accepted: %v", states)
	}
}

func TestARouteHasRoomForSoManyExpressions(t *testing.T) {
	t.Parallel()
	p, _ := limited(t, func(l *limits.Limits) { l.Expressions = 20 }, webGateway+`
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: 1}
spec:
  parentRefs: [{name: web}]
  rules:
  - {matches: [{path: {type: RegularExpression, value: "/[a-z]{9}"}}], backendRefs: [{name: v1, port: 80}]}
  - {matches: [{path: {type: RegularExpression, value: "/[0-9]{9}"}}], backendRefs: [{name: v1, port: 80}]}
`)
	r, _ := p.graph.routes.Get(nil, "HTTPRoute/infra/r")
	if text := fmt.Sprint(r.Outcome); !strings.Contains(text, "more than 20 instructions together") || len(r.Rules) != 1 {
		t.Errorf("%d rules; %s", len(r.Rules), text)
	}
}

func TestANamespaceHasRoomForSoManyNames(t *testing.T) {
	t.Parallel()
	name := func(i int) string {
		return fmt.Sprintf(`
kind: XBackend
metadata: {namespace: infra, name: x%d, creationTimestamp: "2026-01-01T00:00:%02dZ"}
spec: {type: ExternalHostname, port: {number: 80}, externalHostname: {hostname: x%d.example.org}}
`, i, i, i)
	}
	p, _ := limited(t, func(l *limits.Limits) { l.ExternalHostnames = 1 }, webGateway+name(1), name(2))
	for i, refused := range map[int]bool{1: false, 2: true} {
		x, _ := p.graph.xbackends.Get(nil, fmt.Sprintf("infra/x%d", i))
		if (x.Accepted != nil) != refused || refused && !strings.Contains(x.Accepted.Message, "externalHostnames") {
			t.Errorf("x%d: %+v", i, x.Accepted)
		}
	}
}

// Routes that share a hostname repeat nothing, however many there are; each narrower hostname counts, also those of one route.
func TestRepeatedRulesAreCountedByHostname(t *testing.T) {
	t.Parallel()
	objects := []string{webGateway + hostRoute(0, "exact.example.com")}
	for i := range 300 {
		objects = append(objects, fmt.Sprintf(`
kind: HTTPRoute
metadata: {namespace: infra, name: path-%d, generation: 1}
spec: {parentRefs: [{name: web}], rules: [{matches: [{path: {value: /p%d}}], backendRefs: [{name: v1, port: 80}]}]}
`, i, i))
	}
	p, l := limited(t, func(l *limits.Limits) { l.RepeatedRules = 599 }, objects...)
	for _, said := range l.said {
		if strings.HasPrefix(said, "refuse") {
			t.Fatalf("nothing is repeated, and yet: %s", said)
		}
	}
	put(t, p, `
kind: HTTPRoute
metadata: {namespace: infra, name: narrow, generation: 1}
spec: {parentRefs: [{name: web}], hostnames: ["*.a.example.com", "*.b.example.com"], rules: [{backendRefs: [{name: v1, port: 80}]}]}
`)
	p.config.step()
	beyond := 0
	for _, said := range l.said {
		if strings.Contains(said, "repeatedRules") {
			beyond++
		}
	}
	if beyond != 1 {
		t.Errorf("600 rules are repeated, 599 allowed; %d routes are beyond", beyond)
	}
}

// A filter of one listener changes nothing for the hosts of others on its port.
func TestAListenerSetWithAFilterLeavesHostsOfOthersAlone(t *testing.T) {
	t.Parallel()
	g := newGraph()
	load := func(objects string) {
		for _, c := range resolvetest.Load(t, objects) {
			g.objects.Apply(c)
		}
	}
	load(strings.Replace(webGateway, "listeners: [", "allowedListeners: {namespaces: {from: All}}, listeners: [", 1) + wideRoute(1))
	for i := range 50 {
		load(hostRoute(i, fmt.Sprintf("h%d.example.com", i)))
	}
	const set = `
kind: ListenerSet
metadata: {namespace: infra, name: set}
spec:
  parentRef: {name: web}
  listeners:
  - name: checked
    port: 80
    protocol: HTTP
    hostname: set.example.com
`
	const ask = "{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v1, port: 80}}}"
	load(set)
	g.memo.Run()
	g.resourceChanges()
	chains := func() []ir.Chain {
		port, _ := g.ports.Get(nil, g.ports.Keys(nil)[0])
		return port.Chains
	}
	before := chains()
	for _, filters := range []string{ask, ask + ", " + ask, ask} {
		load(set + "    filters: {requests: [" + filters + "]}\n")
		report := g.memo.Run()
		if n := report.Changed[stageVirtualHost]; n != 1 {
			t.Errorf("the filters %s change %d hosts, want its own", filters, n)
		}
		if after := chains(); !reflect.DeepEqual(before, after) {
			t.Errorf("the filters %s change the chain that all share, which drains its connections: %+v, before %+v", filters, after, before)
		}
	}
	if host, _ := g.hosts.Get(nil, ir.ParseHostID("infra/web/80|h7.example.com")); !host.FallsThrough || len(host.Rules) != 1 {
		t.Errorf("h7 has %d rules and falls through: %v", len(host.Rules), host.FallsThrough)
	}
}

func slicesOf(service string, endpoints int) string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"kind: EndpointSlice\nmetadata: {namespace: infra, name: %s, labels: {kubernetes.io/service-name: %s}}\naddressType: IPv4\nports: "+
			"[{name: http, port: 8080}]\nendpoints:\n",
		service,
		service,
	)
	for i := range endpoints {
		fmt.Fprintf(&b, "- addresses: [10.0.0.%d]\n", i)
	}
	return b.String()
}

func TestABackendAndANamespaceHaveRoomForSoManyEndpoints(t *testing.T) {
	t.Parallel()
	toV2 := strings.Replace(hostRoute(2, "b.example.com"), "name: v1", "name: v2", 1)
	objects := []string{webGateway + hostRoute(1, "a.example.com"), toV2, slicesOf("v1", 9), slicesOf("v2", 9)}
	for _, c := range []struct {
		name   string
		limit  func(*limits.Limits)
		served map[string]int
		// reported are the routes that report a limit, and mention those that mention it and are served.
		reported, mention map[string]string
	}{
		{"all have room", func(*limits.Limits) {}, map[string]int{"v1": 9, "v2": 9}, nil, nil},
		{
			"each has too many", func(l *limits.Limits) { l.Endpoints = 4 },
			map[string]int{"v1": 4, "v2": 4},
			nil,
			map[string]string{"r1": "limit endpoints", "r2": "limit endpoints"},
		},
		{
			"both together have too many", func(l *limits.Limits) { l.NamespaceEndpoints = 17 },
			map[string]int{"v1": 9, "v2": 0},
			map[string]string{"infra/r2": "limit namespaceEndpoints"},
			nil,
		},
		{
			"both together have room once they are cut", func(l *limits.Limits) { l.Endpoints, l.NamespaceEndpoints = 4, 8 },
			map[string]int{"v1": 4, "v2": 4},
			nil,
			map[string]string{"r1": "limit endpoints"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, l := limited(t, c.limit, objects...)
			for service, want := range c.served {
				key := "infra/" + service + "/80"
				if got := endpointsOf(t, p, key); got != want {
					t.Errorf("%s has %d endpoints, want %d", service, got, want)
				}
			}
			for name, word := range c.reported {
				l.refused(t, name, word)
			}
			for _, name := range []string{"r1", "r2"} {
				said := message(t, p.graph, name, "ResolvedRefs")
				if word := c.mention[name]; !strings.Contains(said, word) || c.mention == nil && strings.Contains(said, "limit") {
					t.Errorf("%s says %q, want %q", name, said, word)
				}
			}
			if c.reported == nil && slices.ContainsFunc(l.said, func(s string) bool { return strings.Contains(s, "ndpoints") }) {
				t.Errorf("it is said %q", l.said)
			}
		})
	}
}

func TestARouteMentionsEndpointsUntilAllAreServed(t *testing.T) {
	t.Parallel()
	p, _ := limited(t, func(l *limits.Limits) { l.Endpoints = 4 }, webGateway+hostRoute(1, "a.example.com"), slicesOf("v1", 9))
	put(t, p, slicesOf("v1", 3))
	p.endpoints.step()
	p.config.step()
	if said := message(t, p.graph, "r1", "ResolvedRefs"); strings.Contains(said, "limit") {
		t.Errorf("it still says %q", said)
	}
}

// endpointsOf is how many endpoints a backend is given, which are all that it may have by itself, or none.
func endpointsOf(t *testing.T, p *Pipeline, key string) int {
	t.Helper()
	alone, size := endpoints.LoadAssignment(nil, p.endpointObjects, ir.ParseEndpoints(key))
	given, _ := p.assignments.Table.Get(nil, key)
	for proto, n := range map[*endpointv3.ClusterLoadAssignment]int{alone: size.Taken, {ClusterName: key}: 0} {
		if r, err := xds.NewResource(proto); err == nil && r.Version() == version(given.resource) {
			return n
		}
	}
	t.Fatalf("%s is given something else", key)
	return 0
}
