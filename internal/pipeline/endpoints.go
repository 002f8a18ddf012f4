package pipeline

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	corev1 "k8s.io/api/core/v1"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

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

// endpointGraph is the stages of the endpoint lane. It shares nothing with the configuration lane, so that a pod that comes or goes
// never waits for a translation, nor causes one.
type endpointGraph struct {
	store   *store.Store
	memo    *memo.Graph
	objects *store.Objects
	// assignments are what is served, and short the backends of which not all endpoints are.
	assignments *store.TableOf[ir.Endpoints, translation]
	short       *store.Index[translation]
}

// assignment is what a backend would have if there were no other.
type assignment struct {
	translation
	endpoints.Size
}

func newEndpointGraph(options ...memo.Option) *endpointGraph {
	s := store.New()
	g := &endpointGraph{store: s, objects: store.NewObjects(s)}
	g.memo = memo.New(s, options...)
	ports := store.NewIndexOf(g.objects.Services, "Service.byPort", func(_ string, service *corev1.Service) []ir.Endpoints {
		return endpoints.OfService(service)
	})
	xbackends := store.NewIndexOf(g.objects.XBackends, "XBackend.byPort", func(_ string, b *gwxv1alpha1.XBackend) []ir.Endpoints {
		return endpoints.OfXBackend(b)
	})
	imports := store.NewIndexOf(g.objects.ServiceImports, "ServiceImport.byPort", func(_ string, i *mcsv1beta1.ServiceImport) []ir.Endpoints {
		return endpoints.OfServiceImport(i)
	})
	pools := store.NewIndexOf(g.objects.InferencePools, "InferencePool.all", func(_ string, p *inferencev1.InferencePool) []ir.Endpoints {
		return endpoints.OfInferencePool(p)
	})
	sources := []store.SourceOf[ir.Endpoints]{ports, imports, xbackends, pools}
	all := memo.DeriveOf(g.memo, stageEndpoints, ir.ParseEndpoints, sources, sameAssignment, func(v *store.View, of ir.Endpoints) assignment {
		var a assignment
		var local *endpoints.Local
		a.translation = checked(func() (proto *endpointv3.ClusterLoadAssignment) {
			proto, local, a.Size = endpoints.Assign(v, g.objects, of)
			return proto
		})
		a.translation = inPlaces(a.translation, local)
		a.idle, a.count = a.Taken == 0, a.Taken
		return a
	})
	budget := g.addNamespaceBudgetStage(all)
	served := []store.SourceOf[ir.Endpoints]{all}
	g.assignments = memo.DeriveOf(g.memo, stageServedEndpoints, ir.ParseEndpoints, served, sameTranslation,
		func(v *store.View, of ir.Endpoints) translation {
			a, _ := all.Get(v, of)
			t := a.translation
			cutoff, _ := budget.Get(v, of.Object.Namespace)
			switch {
			case cutoff.Excludes(a.Created, of.String()) && a.Taken > 0:
				t = checked(func() *endpointv3.ClusterLoadAssignment {
					return &endpointv3.ClusterLoadAssignment{ClusterName: of.String()}
				})
				t.limit = limits.NameNamespaceEndpoints
			case a.Taken < a.Wanted:
				t.limit = limits.NameEndpoints
			}
			return t
		})
	g.short = store.NewIndex(g.assignments.Table, "served endpoints.short",
		func(_ string, t translation) []string { return some(t.limit != "") })
	g.assignments.CollectChanges()
	return g
}

// addNamespaceBudgetStage adds the stage that finds the namespaces with too many endpoints.
func (g *endpointGraph) addNamespaceBudgetStage(all *store.TableOf[ir.Endpoints, assignment]) *store.Table[limits.Cutoff] {
	byNamespace := store.NewIndex(all.Table, "endpoints.byNamespace", func(key string, _ assignment) []string {
		return []string{ir.ParseEndpoints(key).Object.Namespace}
	})
	totals := store.NewSums(all.Table, "endpoints.total", func(key string, a assignment) map[string]int {
		return map[string]int{ir.ParseEndpoints(key).Object.Namespace: a.Taken}
	})
	return memo.Derive(g.memo, stageEndpointBudget, from(byNamespace), deepEqual[limits.Cutoff],
		func(v *store.View, namespace string) limits.Cutoff {
			if totals.Get(v, namespace) <= g.objects.Limits.NamespaceEndpoints {
				return limits.Cutoff{}
			}
			var items []limits.Item
			for _, key := range byNamespace.Keys(v, namespace) {
				a, _ := all.Table.Get(v, key)
				items = append(items, limits.Item{Created: a.Created, Key: key, Weight: a.Taken})
			}
			return limits.Find(items, g.objects.Limits.NamespaceEndpoints)
		})
}

func sameAssignment(a, b assignment) bool {
	return a.Size == b.Size && sameTranslation(a.translation, b.translation)
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
func (g *endpointGraph) changes(note func(of ir.Endpoints, idle bool)) (map[string]*xds.Resource, []locatedError) {
	different, invalid := takeResources(g.assignments.Table, func(key string) xds.Change {
		of := ir.ParseEndpoints(key)
		t, _ := g.assignments.Get(nil, of)
		note(of, t.idle)
		return xds.Change{Type: xds.Endpoints, Name: key}
	})
	changes := make(map[string]*xds.Resource, len(different))
	for _, change := range different {
		changes[change.Name] = change.Resource
	}
	return changes, invalid
}

// shortages are the backends of which not all endpoints are served, with the limit that is in the way.
func (g *endpointGraph) shortages() map[ir.Endpoints]string {
	short := map[ir.Endpoints]string{}
	for _, key := range g.short.Keys(nil, beyond) {
		t, _ := g.assignments.Table.Get(nil, key)
		short[ir.ParseEndpoints(key)] = t.limit
	}
	return short
}
