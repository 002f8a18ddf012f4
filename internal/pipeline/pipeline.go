package pipeline

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/store"
)

// Pipeline is two lanes: configuration, and endpoints on their own.
type Pipeline struct {
	config    *lane
	endpoints *lane
	metrics   *metrics
	log       *slog.Logger
}

// Option changes how a pipeline is made.
type Option func(*Pipeline)

// WithLog says where to write what should never happen.
func WithLog(log *slog.Logger) Option { return func(p *Pipeline) { p.log = log } }

// New connects the lanes to where their results go.
func New(proxies Proxies, fleets Fleets, selectors Selectors, statuses Statuses, registerer prometheus.Registerer, options ...Option) *Pipeline {
	m := newMetrics(registerer)
	g, e := newGraph(), newEndpointGraph()
	p := &Pipeline{metrics: m, log: slog.New(slog.DiscardHandler)}
	for _, set := range options {
		set(p)
	}
	p.config = &lane{
		name: "config", inbox: newInbox(), objects: g.objects, graph: g.memo, metrics: m,
		publish: func() {
			changes, flaws := g.resourceChanges()
			proxies.Apply(changes)
			p.tell(flaws)
			g.publishFleets(fleets)
			g.publishSelectors(selectors)
			g.publishStatuses(statuses)
		},
	}
	p.endpoints = &lane{
		name: "endpoints", inbox: newInbox(), objects: e.objects, graph: e.memo, metrics: m,
		publish: func() {
			changes, flaws := e.changes()
			proxies.ApplyEndpoints(changes)
			p.tell(flaws)
		},
	}
	return p
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
