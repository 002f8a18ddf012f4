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
	config     *lane
	endpoints  *lane
	quarantine *quarantine
	metrics    *metrics
	log        *slog.Logger
}

// Outputs are where results go. All fields are required.
type Outputs struct {
	Proxies   Proxies
	Fleets    Fleets
	Selectors Selectors
	Statuses  Statuses
	Proofs    Proofs
	Peers     Peers
}

// Option changes how a pipeline is made.
type Option func(*Pipeline)

// WithLog says where to write what should never happen.
func WithLog(log *slog.Logger) Option { return func(p *Pipeline) { p.log = log } }

// WithSystemNamespace says in which namespace fleets are that do not run beside their Gateway.
func WithSystemNamespace(name string) Option {
	return func(p *Pipeline) { p.quarantine.graph.objects.System = name }
}

// WithFiles says whether Gateways may choose delivery Files.
func WithFiles(offered bool) Option { return func(p *Pipeline) { p.quarantine.graph.files = offered } }

// New connects the lanes to where their results go.
func New(to Outputs, registerer prometheus.Registerer, options ...Option) *Pipeline {
	m := newMetrics(registerer)
	g, e := newGraph(), newEndpointGraph()
	q := newQuarantine(g, to)
	p := &Pipeline{quarantine: q, metrics: m, log: slog.New(slog.DiscardHandler)}
	for _, set := range options {
		set(p)
	}
	p.config = &lane{
		name: "config", inbox: newInbox(), apply: q.apply, graph: g.memo, metrics: m,
		publish: func(b batch) {
			q.remember()
			changes, flaws := g.resourceChanges()
			to.Proofs.Reach(to.Proxies.Apply(changes), b.since)
			p.tell(flaws)
			g.publishFleets(to.Fleets)
			g.publishSelectors(to.Selectors)
			g.publishStatuses(to.Statuses)
			q.publish(changes)
		},
	}
	q.again = p.config.inbox.ring
	p.endpoints = &lane{
		name: "endpoints", inbox: newInbox(), graph: e.memo, metrics: m,
		apply: func(b batch) {
			for _, c := range b.changes {
				e.objects.Apply(c)
			}
		},
		publish: func(batch) {
			changes, flaws := e.changes()
			to.Proxies.ApplyEndpoints(changes)
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
