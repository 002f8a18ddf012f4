package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/peers"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/programmed"
	classresolve "github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/status"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// replica is a control plane as it is assembled in production, but for informers, fleets and leader election, which the scheduler stands
// for.
type replica struct {
	name string
	// number is the one that actions name.
	number     int
	cache      *xds.Cache
	tracker    *convergence.Tracker
	pipeline   *pipeline.Pipeline
	peerServer *peers.Server
	peerClient *peers.Client
	writer     *status.Writer

	ctx  context.Context
	stop context.CancelFunc
	// resign ends the leadership; it is nil if the replica does not lead.
	resign context.CancelFunc
	// paused says that nothing arrives and nothing leaves.
	paused bool
	// lost says that the lease was lost while the replica was paused.
	lost bool
	// started says that the lanes run on their own.
	started bool
	// streams counts those of proxies.
	streams int

	// pending are the events that have not arrived, by kind: each kind has a watch of its own. last is the last one that did.
	pending map[store.Kind][]event
	last    map[store.Kind]event

	mu sync.Mutex
	// view is the informers' cache.
	view map[ref]runtimeclient.Object
	// decisions are the routes that were found to be Programmed.
	decisions map[string]decision
	// calls are the writes that the API server has not handled.
	calls []*call
	// assignments are what the pipeline has handed out and the cache has not taken.
	assignments []map[string]*xds.Resource
	// turns are what goroutines of the replica wait with until everything is at rest, and wake says that there is one. Without it nothing
	// waits.
	turns []turn
	wake  func()
	// peers are the streams to other replicas, by name.
	peers map[string]*link
	// open opens a stream to another replica.
	open func(ctx context.Context, from *replica, to string) (*link, error)
}

// call is a write that waits for the API server.
type call struct {
	ctx    context.Context
	object runtimeclient.Object
	done   chan error
}

func (c *call) name() string { return string(kindOf(c.object)) + "/" + c.object.GetName() }

// writers is as many as there are objects with a status, so that all writes are under way together.
const writers = 12

func newReplica(ctx context.Context, name string, open func(context.Context, *replica, string) (*link, error), wake func()) *replica {
	r := &replica{
		name: name, cache: xds.NewCache(), pending: map[store.Kind][]event{}, last: map[store.Kind]event{},
		view: map[ref]runtimeclient.Object{}, decisions: map[string]decision{},
		peers: map[string]*link{}, open: open, wake: wake,
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	log := slog.New(slog.DiscardHandler)
	r.writer = status.NewWriter(status.Options{
		Reader: reader{r}, Client: statusClient{r}, Controller: classresolve.ControllerName, Log: log, Metrics: unregistered{}, Workers: writers,
	})
	r.tracker = convergence.New(unregistered{})
	conditions := programmed.New(r.tracker, statuses{r})
	r.peerServer = peers.NewServer(log)
	r.pipeline = pipeline.New(pipeline.Outputs{
		Proxies: r, Fleets: fleets{r.tracker}, Selectors: selectors{}, Statuses: conditions, Convergence: conditions, Peers: offers{r},
	}, unregistered{}, pipeline.WithLog(slog.New(loud{log.Handler()})))
	heard := peerNews{r}
	r.peerClient = peers.NewClient(peers.Options{
		Open: r.openPeer, Listener: heard, Wants: r.cache.Wants, NACKed: heard.nacked, Offered: heard.offered, Node: name, Log: log,
	})
	return r
}

// loud ends the test when the pipeline logs an error: that it contained a panic, or that it left something out which Envoy would refuse.
type loud struct{ slog.Handler }

func (loud) Enabled(context.Context, slog.Level) bool { return true }

func (loud) Handle(_ context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		return nil
	}
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	panic(text)
}

// start lists the objects and does what is done before the first proxy is let in.
func (r *replica) start(objects map[ref]runtimeclient.Object) {
	for what, object := range objects {
		r.observe(event{ref: what, object: object})
	}
	r.pipeline.Start()
	r.applyEndpoints()
	r.cache.Open()
	r.started = true
	for _, run := range []func(context.Context){r.pipeline.Run, r.tracker.Run, r.peerServer.Run, r.peerClient.Run} {
		go run(r.ctx)
	}
}

// observe has an event arrive.
func (r *replica) observe(e event) {
	r.mu.Lock()
	if e.object == nil {
		delete(r.view, e.ref)
	} else {
		r.view[e.ref] = e.object
	}
	r.mu.Unlock()
	r.writer.Observed(e.kind, e.key)
	if e.statusOnly {
		return
	}
	if e.kind == store.EndpointSlice {
		slice, _ := e.object.(*discoveryv1.EndpointSlice)
		r.tracker.Endpoints(e.key, slice)
	}
	change := store.Change{Kind: e.kind, Key: e.key}
	if e.object != nil {
		change.Object = e.object
	}
	r.pipeline.Put(change)
}

// applyEndpoints has the cache take the oldest assignments, and returns false if there are none.
func (r *replica) applyEndpoints() bool {
	r.mu.Lock()
	if len(r.assignments) == 0 {
		r.mu.Unlock()
		return false
	}
	oldest := r.assignments[0]
	r.assignments = r.assignments[1:]
	r.mu.Unlock()
	r.cache.ApplyEndpoints(oldest)
	return true
}

// newServer serves one stream. Each has an observer of its own: a proxy may have two for a while.
func (r *replica) newServer(stream int) *xds.Server {
	server := xds.NewServer(r.cache, nil, slog.New(slog.DiscardHandler), unregistered{}, observer{r, stream})
	server.ServePeers(r.peerServer, peers.TypeURL)
	return server
}

// serve serves a stream until it ends.
func (r *replica) serve(client xds.Identity, stream int, l *link) {
	_ = r.newServer(stream).ServeStream(client, l)
	l.cancel()
}

// lead has the replica write status until it resigns.
func (r *replica) lead() {
	ctx, cancel := context.WithCancel(r.ctx)
	r.resign = cancel
	go func() { _ = r.writer.Start(ctx) }()
}

func (r *replica) follow() {
	if r.resign != nil {
		r.resign()
		r.resign = nil
	}
}

// takeCall is a write that a caller still waits for, nil if there is none. Of several it is the one whose object comes first, whichever was
// made first: the replica goes through maps.
func (r *replica) takeCall(take, abandoned bool) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !abandoned {
		r.calls = slices.DeleteFunc(r.calls, func(c *call) bool { return c.ctx.Err() != nil })
	}
	if len(r.calls) == 0 {
		return nil
	}
	first := 0
	for i, c := range r.calls {
		if c.name() < r.calls[first].name() {
			first = i
		}
	}
	c := r.calls[first]
	if take {
		r.calls = slices.Delete(r.calls, first, first+1)
	}
	return c
}

func (r *replica) openPeer(ctx context.Context, address string) (peers.Stream, error) {
	l, err := r.open(ctx, r, address)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peers[address] = l
	return client{l}, nil
}

// peerLinks are the streams to other replicas that are not over, in the order of their names.
func (r *replica) peerLink(address string) *link {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.peers[address]; l != nil && l.ctx.Err() == nil {
		return l
	}
	return nil
}

// fleets tells the tracker which Service leads to the proxies of a Gateway.
type fleets struct{ tracker *convergence.Tracker }

func (f fleets) Set(g ir.Gateway)    { f.tracker.Fleet(g, store.Key(g.FleetNamespace(), g.Fleet.Name)) }
func (f fleets) Freeze(g ir.Gateway) { f.Set(g) }

func (f fleets) Release(name ir.Name, _ ir.Fleet) { f.Delete(name) }
func (f fleets) Delete(name ir.Name)              { f.tracker.Fleet(ir.Gateway{Name: name}, "") }

type selectors struct{}

func (selectors) Set(ir.Selector)                  {}
func (selectors) Release(ir.BackendTarget, string) {}
func (selectors) Delete(ir.BackendTarget)          {}

// decision is that a generation of a route is Programmed, and which proxies were ready then. Others may become ready before it is written.
type decision struct {
	generation int64
	ready      []string
}

// decide notes when it is found that a route is Programmed.
func (r *replica) decide(key string, o outcome.Route) {
	live := slices.ContainsFunc(o.Parents, func(p outcome.Parent) bool {
		return slices.ContainsFunc(
			p.Conditions, func(c outcome.Condition) bool { return c.Type == outcome.RouteProgrammed && c.State == outcome.True },
		)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, known := r.decisions[key]; live && known && before.generation == o.Generation {
		return
	}
	delete(r.decisions, key)
	if live {
		r.decisions[key] = decision{o.Generation, r.sees(slots[slotOf("HTTPRoute/"+key)].gateway)}
	}
}

// forget says that what was decided before of some routes is not about a proxy as it is from now on.
func (r *replica) forget(proxy string, of func(route string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, d := range r.decisions {
		if !of(key) {
			continue
		}
		d.ready = slices.DeleteFunc(slices.Clone(d.ready), func(name string) bool { return name == proxy })
		r.decisions[key] = d
	}
}

// reader reads from a replica's view.
type reader struct{ *replica }

// Get implements [runtimeclient.Reader].
func (r reader) Get(_ context.Context, key runtimeclient.ObjectKey, into runtimeclient.Object, _ ...runtimeclient.GetOption) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	kind := kindOf(into)
	name := key.Name
	if key.Namespace != "" {
		name = store.Key(key.Namespace, key.Name)
	}
	found := r.view[ref{kind, name}]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: gwv1.GroupName, Resource: string(kind)}, name)
	}
	switch into := into.(type) {
	case *gwv1.HTTPRoute:
		*into = *as[*gwv1.HTTPRoute](found)
	case *gwv1.Gateway:
		*into = *as[*gwv1.Gateway](found)
	case *gwv1.GatewayClass:
		*into = *as[*gwv1.GatewayClass](found)
	}
	return nil
}

// List implements [runtimeclient.Reader].
func (reader) List(context.Context, runtimeclient.ObjectList, ...runtimeclient.ListOption) error {
	return errors.ErrUnsupported
}

func kindOf(object runtimeclient.Object) store.Kind {
	switch object.(type) {
	case *gwv1.HTTPRoute:
		return store.HTTPRoute
	case *gwv1.Gateway:
		return store.Gateway
	case *gwv1.GatewayClass:
		return store.GatewayClass
	default:
		panic(fmt.Sprintf("%T has no status", object))
	}
}

// statusClient has writes wait for the API server.
type statusClient struct{ *replica }

// Status implements [runtimeclient.StatusClient].
func (s statusClient) Status() runtimeclient.SubResourceWriter {
	return statusWriter{of: s.replica}
}

type statusWriter struct {
	runtimeclient.SubResourceWriter
	of *replica
}

// Patch implements [runtimeclient.SubResourceWriter].
func (s statusWriter) Patch(
	ctx context.Context, object runtimeclient.Object, _ runtimeclient.Patch, _ ...runtimeclient.SubResourcePatchOption,
) error {
	c := &call{ctx: ctx, object: object, done: make(chan error, 1)}
	s.of.mu.Lock()
	s.of.calls = append(s.of.calls, c)
	s.of.mu.Unlock()
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unregistered counts nothing that is read.
type unregistered struct{}

// Register implements [prometheus.Registerer].
func (unregistered) Register(prometheus.Collector) error { return nil }

// MustRegister implements [prometheus.Registerer].
func (unregistered) MustRegister(...prometheus.Collector) {}

// Unregister implements [prometheus.Registerer].
func (unregistered) Unregister(prometheus.Collector) bool { return true }
