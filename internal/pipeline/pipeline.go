package pipeline

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/store"
)

// Pipeline is two lanes: configuration, and endpoints on their own.
type Pipeline struct {
	config     *lane
	endpoints  *lane
	idle       *idleness
	graph      *graph
	to         Outputs
	quarantine *quarantine.Quarantine
	failures   *failures
	short      *shortEndpoints
	// noticed are the notices that were published last.
	noticed notices
	// panicked is called for a change that cannot be stored.
	panicked panicked
	// endpointObjects are those of the endpoint lane, and assignments what it makes of them.
	endpointObjects *store.Objects
	assignments     *store.TableOf[ir.Endpoints, translation]
	metrics         *metrics
	log             *slog.Logger
	// fault is nil, but in tests.
	fault func(stage, key string)
}

// Outputs are where results go. All fields but RateLimits are required.
type Outputs struct {
	Proxies     Proxies
	Fleets      Fleets
	Selectors   Selectors
	Statuses    Statuses
	Convergence Convergence
	Peers       quarantine.Peers
	// RateLimits is nil where there is no rate limit service.
	RateLimits RateLimits
}

// Option changes how a pipeline is made.
type Option func(*Pipeline)

// WithLog says where to write what should never happen.
func WithLog(log *slog.Logger) Option { return func(p *Pipeline) { p.log = log } }

// WithSystemNamespace says in which namespace fleets are that do not run beside their Gateway.
func WithSystemNamespace(name string) Option {
	return func(p *Pipeline) { p.graph.objects.System = name }
}

// WithLimits says how much a tenant may take.
func WithLimits(l limits.Limits) Option {
	return func(p *Pipeline) { p.graph.objects.Limits, p.endpointObjects.Limits = l, l }
}

// WithClusterDomain says which DNS domain the cluster has.
func WithClusterDomain(name string) Option {
	return func(p *Pipeline) { p.graph.objects.ClusterDomain = name }
}

// WithClusterID says what the cluster is called among those that share ServiceImports.
func WithClusterID(id string) Option {
	return func(p *Pipeline) { p.endpointObjects.ClusterID = id }
}

// WithExternalHostnames says whether XBackends may lead out of the cluster, and to which addresses their names may not.
func WithExternalHostnames(allowed bool, denied []netip.Prefix) Option {
	return func(p *Pipeline) {
		p.graph.objects.NoExternalHostnames, p.graph.objects.DeniedAddresses = !allowed, denied
	}
}

// WithExtensions says which types of extensions are enabled.
func WithExtensions(types store.ExtensionTypes) Option {
	return func(p *Pipeline) { p.graph.objects.EnabledExtensions = types }
}

// WithSocketDirectories says in which directories Unix sockets of Backends may be.
func WithSocketDirectories(directories []string) Option {
	return func(p *Pipeline) { p.graph.objects.SocketDirectories = directories }
}

// WithFamilies says which IP families the pods of the cluster have, the preferred one first.
func WithFamilies(families ir.Families) Option {
	return func(p *Pipeline) { p.graph.families = families }
}

// WithController says by which name a GatewayClass chooses this installation.
func WithController(name gwv1.GatewayController) Option {
	return func(p *Pipeline) { p.graph.objects.Controller = name }
}

// WithFiles says whether Gateways may choose delivery Files.
func WithFiles(offered bool) Option { return func(p *Pipeline) { p.graph.files = offered } }

// WithFault has fn called whenever a stage has computed something. It is for tests of what happens when a stage panics.
func WithFault(fn func(stage, key string)) Option { return func(p *Pipeline) { p.fault = fn } }

// New connects the lanes to where their results go.
func New(to Outputs, registerer prometheus.Registerer, options ...Option) *Pipeline {
	m := newMetrics(registerer)
	p := &Pipeline{metrics: m, log: slog.New(slog.DiscardHandler)}
	set := []memo.Option{memo.ContainPanics(), memo.OnComputed(func(stage, key string) {
		if p.fault != nil {
			p.fault(stage, key)
		}
	})}
	g, e := newGraph(set...), newEndpointGraph(set...)
	p.graph, p.to, p.failures, p.short, p.noticed = g, to, newFailures(g), &shortEndpoints{}, notices{}
	p.endpointObjects, p.assignments = e.objects, e.assignments
	for _, set := range options {
		set(p)
	}
	panicked := func(where, key, reason, stack string) {
		m.panics.WithLabelValues(where).Inc()
		p.log.Error("internal error, going on with what was there before; this is a bug, please report it",
			"stage", where, "key", key, "reason", reason, "stack", stack)
	}
	p.panicked = panicked
	p.config = &lane{
		name: "config", inbox: newInbox(), apply: p.apply, graph: g.memo, metrics: m, panicked: panicked, publish: p.publish,
	}
	p.quarantine = quarantine.New(g.quarantineTables(), to.Convergence, to.Peers, p.config.inbox.again)
	if to.Convergence != nil {
		to.Convergence.OnDisconnect(p.config.inbox.againSoon)
	}
	p.idle = newIdleness(p.config.inbox.idle)
	p.endpoints = &lane{
		name: "endpoints", inbox: newInbox(), graph: e.memo, metrics: m, panicked: panicked,
		apply: func(b batch) {
			for _, c := range b.changes {
				take(e.objects, c, panicked)
			}
		},
		publish: func(batch, memo.Report) {
			changes, invalid := e.changes(p.idle.note)
			to.Proxies.ApplyEndpoints(changes)
			p.logValidationErrors(invalid)
			if p.short.set(e.shortages()) {
				p.config.inbox.again()
			}
		},
	}
	registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatewright_pipeline_age_seconds",
		Help: "For how long the oldest batch of changes has not been handed out.",
	}, func() float64 { return p.Age().Seconds() }))
	return p
}

// Put takes a change in. It never blocks.
func (p *Pipeline) Put(c store.Change) {
	switch c.Kind {
	case store.EndpointSlice:
		p.endpoints.inbox.put(c)
	case store.Service, store.ServiceImport, store.XBackend, store.InferencePool:
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
	p.idle.flush()
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

// Age is for how long the oldest batch of changes of either lane has not been handed out. A lane that hangs shows in it; what came in
// before the first round does not.
func (p *Pipeline) Age() time.Duration {
	return max(p.endpoints.inbox.age(), p.config.inbox.age())
}
