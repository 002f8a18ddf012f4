package pipeline

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/store"
)

// Pipeline is two lanes: configuration, and endpoints on their own.
type Pipeline struct {
	config    *lane
	endpoints *lane
}

// New connects the lanes to where their results go.
func New(proxies Proxies, fleets Fleets, selectors Selectors, statuses Statuses, registerer prometheus.Registerer) *Pipeline {
	m := newMetrics(registerer)
	g, e := newGraph(), newEndpointGraph()
	return &Pipeline{
		config: &lane{
			name: "config", inbox: newInbox(), objects: g.objects, graph: g.memo, metrics: m,
			publish: func() {
				proxies.Apply(g.resourceChanges())
				g.publishFleets(fleets)
				g.publishSelectors(selectors)
				g.publishStatuses(statuses)
			},
		},
		endpoints: &lane{
			name: "endpoints", inbox: newInbox(), objects: e.objects, graph: e.memo, metrics: m,
			publish: func() { proxies.ApplyEndpoints(e.changes()) },
		},
	}
}

// Put takes a change in. It never blocks.
func (p *Pipeline) Put(c store.Change) {
	switch c.Kind {
	case store.EndpointSlice:
		p.endpoints.inbox.put(c)
	case store.Service, store.XBackend:
		p.endpoints.inbox.put(c)
		p.config.inbox.put(c)
	default:
		p.config.inbox.put(c)
	}
}

// Start does the first round of both lanes, with everything that was put in so far. Endpoints go first, so that no cluster is ever
// without them.
func (p *Pipeline) Start() {
	p.endpoints.step()
	p.config.step()
}

// Run goes on until the context is done.
func (p *Pipeline) Run(ctx context.Context) {
	var wait sync.WaitGroup
	for _, l := range []*lane{p.endpoints, p.config} {
		wait.Go(func() { l.run(ctx) })
	}
	wait.Wait()
}
