package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/peers"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/proof"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/status"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// replica is a control plane as it is assembled in production, but for informers, fleets and leader election, which the scheduler stands
// for.
type replica struct {
	name     string
	cache    *xds.Cache
	proofs   *proof.Keeper
	pipeline *pipeline.Pipeline
	board    *peers.Board
	follower *peers.Follower
	server   *xds.Server
	writer   *status.Writer

	ctx  context.Context
	stop context.CancelFunc
	// resign ends the leadership; it is nil if the replica does not lead.
	resign context.CancelFunc
	// paused says that nothing arrives and nothing leaves.
	paused bool
	// lost says that the lease was lost while the replica was paused.
	lost bool

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
	// news is what the board has not heard.
	news []news
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

func newReplica(ctx context.Context, name string, open func(context.Context, *replica, string) (*link, error)) *replica {
	r := &replica{
		name: name, cache: xds.NewCache(), pending: map[store.Kind][]event{}, last: map[store.Kind]event{}, view: map[ref]runtimeclient.Object{}, decisions: map[string]decision{},
		peers: map[string]*link{}, open: open,
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	log := slog.New(slog.DiscardHandler)
	r.writer = status.NewWriter(status.Options{
		Reader: reader{r}, Client: statusClient{r}, Controller: gateway.ControllerName, Log: log, Metrics: unregistered{}, Workers: writers,
	})
	r.proofs = proof.New(statuses{r.writer, r}, unregistered{})
	r.board = peers.NewBoard(log)
	r.pipeline = pipeline.New(pipeline.Outputs{
		Proxies: r, Fleets: fleets{r.proofs}, Selectors: selectors{}, Statuses: r.proofs, Proofs: r.proofs, Peers: observer{r},
	}, unregistered{}, pipeline.WithLog(slog.New(loud{log.Handler()})))
	r.server = xds.NewServer(r.cache, nil, log, unregistered{}, observer{r})
	r.server.ServePeers(r.board, peers.TypeURL)
	r.follower = peers.NewFollower(peers.Options{
		Open: r.openPeer, Listener: r.proofs, Wants: r.cache.Wants, Refused: r.pipeline.Refused, Offered: r.pipeline.Offered, Node: name, Log: log,
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
	for _, run := range []func(context.Context){r.pipeline.Run, r.proofs.Run, r.board.Run, r.follower.Run} {
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
		r.proofs.Endpoints(e.key, slice)
	}
	change := store.Change{Kind: e.kind, Key: e.key}
	if e.object != nil {
		change.Object = e.object
	}
	r.pipeline.Put(change)
}

// Apply implements [pipeline.Proxies].
func (r *replica) Apply(changes []xds.Change) map[string]string { return r.cache.Apply(changes) }

// ApplyEndpoints implements [pipeline.Proxies]. The lanes of a pipeline do not wait for each other, so the scheduler decides when endpoints
// follow.
func (r *replica) ApplyEndpoints(changes map[string]*xds.Resource) {
	if len(changes) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.assignments = append(r.assignments, changes)
}

// applyEndpoints has the cache take the oldest assignments, and returns false if there are none.
func (r *replica) applyEndpoints() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.assignments) == 0 {
		return false
	}
	r.cache.ApplyEndpoints(r.assignments[0])
	r.assignments = r.assignments[1:]
	return true
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

// takeCall is a write that somebody still waits for, nil if there is none. Of several it is the one whose object comes first, whichever was
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

// observer tells the parts of a replica what its proxies do, as in production. The board hears of it at the end of the step, so that what
// it shows together does not depend on which goroutine was faster.
type observer struct{ *replica }

// news is something that the board has not heard.
type news struct {
	proxy xds.Identity
	tell  func()
}

func (o observer) later(p xds.Identity, tell func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.news = append(o.news, news{p, tell})
}

func (o observer) Connected(p xds.Identity) {
	o.proofs.Connected(p)
	o.later(p, func() { o.board.Connected(p) })
}

func (o observer) Disconnected(p xds.Identity) {
	o.proofs.Disconnected(p)
	o.later(p, func() { o.board.Disconnected(p) })
}

func (o observer) Holds(p xds.Identity, state string) {
	o.proofs.Holds(p, state)
	o.later(p, func() { o.board.Holds(p, state) })
}

func (o observer) Leaves(p xds.Identity) {
	o.proofs.Leaves(p)
	o.later(p, func() { o.board.Leaves(p) })
}

// Offer implements [pipeline.Peers].
func (o observer) Offer(key, refused string, instead []byte) {
	o.later(xds.Identity{Pod: key}, func() { o.board.Offer(key, refused, instead) })
}

// Withdraw implements [pipeline.Peers].
func (o observer) Withdraw(key string) {
	o.later(xds.Identity{Pod: key}, func() { o.board.Withdraw(key) })
}

func (o observer) Refused(p xds.Identity, refusal xds.Refusal) {
	o.pipeline.Refused(p, refusal)
	o.later(p, func() { o.board.Refused(p, refusal) })
}

// tellBoard passes on what the board has not heard, one proxy after the other.
func (r *replica) tellBoard() {
	r.mu.Lock()
	all := r.news
	r.news = nil
	r.mu.Unlock()
	slices.SortStableFunc(all, func(a, b news) int {
		return strings.Compare(a.proxy.Gateway+"/"+a.proxy.Pod, b.proxy.Gateway+"/"+b.proxy.Pod)
	})
	for _, n := range all {
		n.tell()
		synctest.Wait()
	}
}

// fleets tells the proofs which Service leads to the proxies of a Gateway.
type fleets struct{ proofs *proof.Keeper }

func (f fleets) Set(g ir.Gateway)  { f.proofs.Fleet(g, store.Key(g.FleetNamespace(), g.Fleet.Name)) }
func (f fleets) Hold(g ir.Gateway) { f.Set(g) }

func (f fleets) Release(name ir.Name, _ ir.Fleet) { f.Delete(name) }
func (f fleets) Delete(name ir.Name)              { f.proofs.Fleet(ir.Gateway{Name: name}, "") }

type selectors struct{}

func (selectors) Set(ir.Selector)         {}
func (selectors) Release(ir.Name, string) {}
func (selectors) Delete(ir.Name)          {}

type statuses struct {
	*status.Writer
	*replica
}

// decision is that a generation of a route is Programmed, and which proxies were ready then. Others may become ready before it is written.
type decision struct {
	generation int64
	ready      []string
}

func (s statuses) SetRoute(kind store.Kind, key string, o outcome.Route) {
	s.decide(key, o)
	s.Writer.SetRoute(kind, key, o)
}

// decide notes when it is found that a route is Programmed.
func (r *replica) decide(key string, o outcome.Route) {
	live := slices.ContainsFunc(o.Parents, func(p outcome.Parent) bool {
		return slices.ContainsFunc(p.Conditions, func(c outcome.Condition) bool { return c.Type == outcome.RouteProgrammed && c.State == outcome.True })
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

func (s statuses) Forget(kind store.Kind, key string) {
	s.mu.Lock()
	delete(s.decisions, key)
	s.mu.Unlock()
	s.Writer.Forget(kind, key)
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
func (s statusWriter) Patch(ctx context.Context, object runtimeclient.Object, _ runtimeclient.Patch, _ ...runtimeclient.SubResourcePatchOption) error {
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

// unregistered counts nothing that anybody reads.
type unregistered struct{}

// Register implements [prometheus.Registerer].
func (unregistered) Register(prometheus.Collector) error { return nil }

// MustRegister implements [prometheus.Registerer].
func (unregistered) MustRegister(...prometheus.Collector) {}

// Unregister implements [prometheus.Registerer].
func (unregistered) Unregister(prometheus.Collector) bool { return true }
