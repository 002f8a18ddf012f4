package pipeline

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	corev1 "k8s.io/api/core/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/endpoints"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	stageEndpoints       = "endpoints"
	stageEndpointBudget  = "endpoint budget"
	stageServedEndpoints = "served endpoints"
)

// The limits of endpoints, by name.
const (
	limitEndpoints          = "endpoints"
	limitNamespaceEndpoints = "namespaceEndpoints"
)

// endpointGraph is the stages of the endpoint lane. It shares nothing with the configuration lane, so that a pod that comes or goes
// never waits for a translation, nor causes one.
type endpointGraph struct {
	memo    *memo.Graph
	objects *store.Objects
	// assignments are what is served, and short the backends of which not all endpoints are.
	assignments *store.Table[translation]
	short       *store.Index[translation]
}

// assignment is what a backend would have if there were no other.
type assignment struct {
	translation
	endpoints.Size
}

func newEndpointGraph(options ...memo.Option) *endpointGraph {
	s := store.New()
	g := &endpointGraph{objects: store.NewObjects(s)}
	g.memo = memo.New(s, options...)
	ports := store.NewIndex(g.objects.Services, "Service.byPort", func(_ string, service *corev1.Service) []string {
		return endpoints.Keys(service)
	})
	xbackends := store.NewIndex(g.objects.XBackends, "XBackend.byPort", func(_ string, b *gwxv1alpha1.XBackend) []string {
		return endpoints.XBackendKeys(b)
	})
	all := memo.Derive(g.memo, stageEndpoints, from(ports, xbackends), sameAssignment, func(v *store.View, key string) assignment {
		var a assignment
		var local *endpoints.Local
		a.translation = checked(func() (proto *endpointv3.ClusterLoadAssignment) {
			proto, local, a.Size = endpoints.Assign(v, g.objects, key)
			return proto
		})
		a.translation = inPlaces(a.translation, local)
		a.idle = a.Taken == 0
		return a
	})
	budget := g.limitNamespaces(all)
	g.assignments = memo.Derive(g.memo, stageServedEndpoints, from(all), sameTranslation, func(v *store.View, key string) translation {
		a, _ := all.Get(v, key)
		t := a.translation
		cutoff, _ := budget.Get(v, backendNamespace(key))
		switch {
		case cutoff.Excludes(a.Created, key) && a.Taken > 0:
			t = checked(func() *endpointv3.ClusterLoadAssignment { return &endpointv3.ClusterLoadAssignment{ClusterName: key} })
			t.limit = limitNamespaceEndpoints
		case a.Taken < a.Wanted:
			t.limit = limitEndpoints
		}
		return t
	})
	g.short = store.NewIndex(g.assignments, "served endpoints.short", func(_ string, t translation) []string { return some(t.limit != "") })
	g.assignments.CollectChanges()
	return g
}

// limitNamespaces lists the stage that finds the namespaces with too many endpoints.
func (g *endpointGraph) limitNamespaces(all *store.Table[assignment]) *store.Table[limits.Cutoff] {
	byNamespace := store.NewIndex(all, "endpoints.byNamespace", func(key string, _ assignment) []string {
		return []string{backendNamespace(key)}
	})
	totals := store.NewSums(all, "endpoints.total", func(key string, a assignment) map[string]int {
		return map[string]int{backendNamespace(key): a.Taken}
	})
	return memo.Derive(g.memo, stageEndpointBudget, from(byNamespace), deepEqual[limits.Cutoff], func(v *store.View, namespace string) limits.Cutoff {
		if totals.Get(v, namespace) <= g.objects.Limits.NamespaceEndpoints {
			return limits.Cutoff{}
		}
		var items []limits.Item
		for _, key := range byNamespace.Keys(v, namespace) {
			a, _ := all.Get(v, key)
			items = append(items, limits.Item{Created: a.Created, Key: key, Weight: a.Taken})
		}
		return limits.Find(items, g.objects.Limits.NamespaceEndpoints)
	})
}

func sameAssignment(a, b assignment) bool {
	return a.Size == b.Size && sameTranslation(a.translation, b.translation)
}

func backendNamespace(key string) string {
	backend, _ := ir.ParseBackend(key)
	return backend.Object.Namespace
}

// inPlaces adds what proxies in some places get instead. If any of that cannot be sent, all proxies get the same.
func inPlaces(all translation, local *endpoints.Local) translation {
	if local == nil || all.resource == nil {
		return all
	}
	places := xds.Places{Nodes: map[string]*xds.Resource{}, Zones: map[string]*xds.Resource{}}
	whole := true
	take := func(assignment *endpointv3.ClusterLoadAssignment) *xds.Resource {
		t := checked(func() *endpointv3.ClusterLoadAssignment { return assignment })
		whole = whole && t.resource != nil
		return t.resource
	}
	for node, assignment := range local.Nodes {
		places.Nodes[node] = take(assignment)
	}
	for zone, assignment := range local.Zones {
		places.Zones[zone] = take(assignment)
	}
	if local.Elsewhere != nil {
		places.Elsewhere = take(local.Elsewhere)
	}
	if whole {
		all.resource = all.resource.In(places)
	}
	return all
}

// changes takes the assignments that are different now, and what was kept from proxies. It notes which of them are none.
func (g *endpointGraph) changes(note func(name string, idle bool)) (map[string]*xds.Resource, []found) {
	different, flaws := takeResources(g.assignments, func(key string) xds.Change {
		t, _ := g.assignments.Get(nil, key)
		note(key, t.idle)
		return xds.Change{Type: xds.Endpoints, Name: key}
	})
	changes := make(map[string]*xds.Resource, len(different))
	for _, change := range different {
		changes[change.Name] = change.Resource
	}
	return changes, flaws
}

// shortages are the backends of which not all endpoints are served, with the limit that is in the way.
func (g *endpointGraph) shortages() map[string]string {
	short := map[string]string{}
	for _, key := range g.short.Keys(nil, beyond) {
		t, _ := g.assignments.Get(nil, key)
		short[key] = t.limit
	}
	return short
}
