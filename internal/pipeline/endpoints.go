package pipeline

import (
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
	assignments *store.Table[*xds.Resource]
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
	g.assignments = memo.Derive(g.memo, stageEndpoints, from(ports, xbackends), sameResource, func(v *store.View, key string) *xds.Resource {
		return resource(endpoints.LoadAssignment(v, g.objects, key))
	})
	g.assignments.CollectChanges()
	return g
}

// changes takes the assignments that are different now.
func (g *endpointGraph) changes() map[string]*xds.Resource {
	changes := map[string]*xds.Resource{}
	for _, key := range g.assignments.TakeChanged() {
		changes[key], _ = g.assignments.Get(nil, key)
	}
	return changes
}
