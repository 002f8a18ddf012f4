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
		idle := false
		t := checked(func() *endpointv3.ClusterLoadAssignment {
			assignment := endpoints.LoadAssignment(v, g.objects, key)
			idle = len(assignment.GetEndpoints()) == 0
			return assignment
		})
		t.idle = idle
		return t
	})
	g.assignments.CollectChanges()
	return g
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
