package pipeline

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	corev1 "k8s.io/api/core/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/endpoints"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

const stageEndpoints = "endpoints"

// endpointGraph is the one stage of the endpoint lane. It shares nothing with the configuration lane, so that a pod that comes or goes
// never waits for a translation, nor causes one.
type endpointGraph struct {
	memo        *memo.Graph
	objects     *store.Objects
	assignments *store.Table[translation]
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
	g.assignments = memo.Derive(g.memo, stageEndpoints, from(ports, xbackends), sameTranslation, func(v *store.View, key string) translation {
		var local *endpoints.Local
		all := checked(func() (all *endpointv3.ClusterLoadAssignment) {
			all, local = endpoints.Assign(v, g.objects, key)
			return all
		})
		return inPlaces(all, local)
	})
	g.assignments.CollectChanges()
	return g
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

// changes takes the assignments that are different now, and what was kept from proxies.
func (g *endpointGraph) changes() (map[string]*xds.Resource, []found) {
	different, flaws := takeResources(g.assignments, func(key string) xds.Change { return xds.Change{Type: xds.Endpoints, Name: key} })
	changes := make(map[string]*xds.Resource, len(different))
	for _, change := range different {
		changes[change.Name] = change.Resource
	}
	return changes, flaws
}
