package model

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

const (
	clusterType  = resourcev3.ClusterType
	endpointType = resourcev3.EndpointType
	secretType   = resourcev3.SecretType
	scopeType    = resourcev3.ScopedRouteType
	listenerType = resourcev3.ListenerType
	routeType    = resourcev3.RouteType

	// fetchTimeout is the initial_fetch_timeout of a config source that sets none (utility.cc).
	fetchTimeout = 15 * time.Second
)

// Envoy is one proxy. It does nothing by itself: it takes responses, and is told when time has passed.
type Envoy struct {
	Options

	// send is nil without a stream, and first says that the stream has had no request.
	send          func(*discoveryv3.DeltaDiscoveryRequest)
	first         bool
	subscriptions map[string]*subscription
	order         []*subscription
	watches       map[string]int
	paused        set
	queue         []acknowledgement

	active, warming map[string]*warmable
	endpoints       map[string]string
	// hasClusters reports that there was a first response with clusters, and initialized that all clusters have been warm since.
	hasClusters, initialized bool

	listeners, warmingListeners map[string]*attached
	draining                    []draining
	// anchor is a listener of the bootstrap that binds no port and uses scopes. It may be nil.
	anchor *attached
	// listened says that there was a first answer for listeners, and started that workers accept connections.
	listened, started bool

	tables, secrets map[string]*provider
	// scopes are by the bytes of the ScopedRds message.
	scopes map[string]*scopes
}

// Options is how an Envoy is started.
type Options struct {
	Node *corev3.Node
	// Anchor are the bytes of the ScopedRds message of a static listener that binds no port, empty if there is none.
	Anchor string
	// Drain is Envoy's --drain-time-s.
	Drain time.Duration
	Now   func() time.Time
}

// provider is a RouteConfiguration or a secret, and its subscription, which all chains share that name it.
type provider struct {
	target
	table *table
}

// target is a subscription that something waits for: until the first answer, a NACK, or the end of the fetch timeout.
type target struct {
	ready    bool
	deadline time.Time
}

func (t *target) done() { t.ready, t.deadline = true, time.Time{} }

// scopes is a ScopedRds subscription. known is what it compares responses with, and serving what workers use; a refused response lets them
// differ (scoped_rds.cc).
type scopes struct {
	target
	known, serving map[string]*scope
	// creator is the listener that waits for it. Others that share it do not (config_provider_impl.h).
	creator *attached
}

// New returns an Envoy that has just been started.
func New(o Options) *Envoy {
	e := &Envoy{
		Options: o, subscriptions: map[string]*subscription{}, watches: map[string]int{}, paused: set{},
		active: map[string]*warmable{}, warming: map[string]*warmable{}, endpoints: map[string]string{},
		listeners: map[string]*attached{}, warmingListeners: map[string]*attached{},
		tables: map[string]*provider{}, secrets: map[string]*provider{}, scopes: map[string]*scopes{},
	}
	if o.Anchor != "" {
		e.anchor = &attached{listener: &listener{chains: []*chain{{scoped: o.Anchor}}}}
		e.anchor.fresh = e.anchor.chains
	}
	e.subscribe(clusterType)
	return e
}

// Started says whether workers accept connections, which is when a proxy becomes ready.
func (e *Envoy) Started() bool { return e.started }

// advance goes on with whatever has become possible: clusters and listeners that are warm, and the order of the start (server.cc,
// cluster_manager_impl.cc).
func (e *Envoy) advance() {
	e.activateClusters()
	if e.hasClusters && !e.initialized && len(e.warming) == 0 {
		e.initialized = true
		e.collect()
		e.subscribe(listenerType)
	}
	for name, l := range sorted(e.warmingListeners) {
		if e.ready(l) {
			delete(e.warmingListeners, name)
			e.activate(l)
		}
	}
	if e.started || !e.listened || e.anchor != nil && !e.ready(e.anchor) {
		return
	}
	for _, l := range e.listeners {
		if !e.ready(l) {
			return
		}
	}
	e.started = true
}

// failed ends the waiting of everything of a type whose response was refused.
func (e *Envoy) failed(typeURL string) {
	switch typeURL {
	case routeType:
		for _, p := range e.tables {
			p.done()
		}
	case scopeType:
		for _, s := range e.scopes {
			s.done()
		}
	case secretType:
		for _, p := range e.secrets {
			p.done()
		}
	}
}

// targets calls visit with everything that waits or may wait.
func (e *Envoy) targets(visit func(*target)) {
	for _, p := range e.tables {
		visit(&p.target)
	}
	for _, p := range e.secrets {
		visit(&p.target)
	}
	for _, s := range e.scopes {
		visit(&s.target)
	}
	for _, c := range e.warming {
		visit(&c.target)
	}
}

// Deadline is when [Envoy.Tick] has something to do next, zero if never.
func (e *Envoy) Deadline() time.Time {
	var next time.Time
	consider := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	e.targets(func(t *target) { consider(t.deadline) })
	for _, d := range e.draining {
		consider(d.deadline)
	}
	return next
}

// Tick ends what has waited or drained for long enough.
func (e *Envoy) Tick() {
	now := e.Now()
	e.targets(func(t *target) {
		if !t.deadline.IsZero() && !t.deadline.After(now) {
			t.done()
		}
	})
	kept := e.draining[:0]
	for _, d := range e.draining {
		if d.deadline.After(now) {
			kept = append(kept, d)
		}
	}
	e.draining = kept
	e.collect()
	e.advance()
	e.flush()
}
