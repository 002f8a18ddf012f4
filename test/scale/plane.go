package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/programmed"
	classresolve "github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/status"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// plane is a control plane as it is assembled in production, but for what needs a cluster: informers, the objects of fleets, and the
// writing of status. The writer remembers what it would write.
type plane struct {
	cache    *xds.Cache
	tracker  *convergence.Tracker
	pipeline *pipeline.Pipeline
	// applied receives whenever changes have been handed to the cache, endpoints when assignments have.
	applied, endpoints chan struct{}
	// instant has every Gateway's proxies hold what they should as soon as they should, for as long as there are no real ones.
	instant bool
	stop    func()

	mu     sync.Mutex
	counts counts
}

// counts is how much was handed to the cache.
type counts struct{ resources, gateways, assignments int }

func (c counts) minus(d counts) counts {
	return counts{c.resources - d.resources, c.gateways - d.gateways, c.assignments - d.assignments}
}

func (p *plane) counted() counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

func (p *plane) count(resources, gateways, assignments int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.resources += resources
	p.counts.gateways += gateways
	p.counts.assignments += assignments
}

func newPlane(s scenario, proxies int) *plane {
	p := &plane{cache: xds.NewCache(), applied: make(chan struct{}, 1), endpoints: make(chan struct{}, 1), instant: proxies == 0}
	registry := prometheus.NewRegistry()
	log := slog.New(slog.DiscardHandler)
	writer := status.NewWriter(status.Options{Controller: classresolve.ControllerName, Log: log, Metrics: registry})
	p.tracker = convergence.New(registry)
	for i := range s.Gateways {
		slice := pods(i, max(proxies/s.Gateways, 1))
		p.tracker.Endpoints(store.KeyOf(slice), slice)
		p.tracker.Fleet(ir.Gateway{Name: ir.Name{Namespace: namespace, Name: name("gateway", i)}}, store.Key(namespace, name("gateway", i)))
		if p.instant {
			p.tracker.Connected(first(xds.GroupID{Namespace: namespace, Name: name("gateway", i)}))
		}
	}
	conditions := programmed.New(p.tracker, writer)
	p.pipeline = pipeline.New(pipeline.Outputs{
		Proxies: p, Fleets: fleets{}, Selectors: selectors{}, Statuses: conditions, Convergence: conditions, Peers: alone{},
	}, registry, pipeline.WithLimits(raised()))
	return p
}

// raised are the limits of an operator who has that many hostnames and backends.
func raised() limits.Limits {
	l := limits.Defaults()
	l.GatewayHostnames, l.GatewayBackends = atMost, atMost
	return l
}

const atMost = 1_000_000

// alone is a replica without others.
type alone struct{}

func (alone) Offer(string, string, []byte) {}
func (alone) Withdraw(string)              {}

// first is the first proxy of a Gateway.
func first(gateway xds.GroupID) xds.Identity {
	return xds.Identity{Group: gateway, Pod: "proxy" + gateway.Name[len("gateway"):] + "-0"}
}

// start does what is done before the first proxy is let in.
func (p *plane) start() {
	p.pipeline.Start()
	p.cache.Open()
}

// run follows changes until the plane is closed.
func (p *plane) run() {
	for _, rung := range []chan struct{}{p.applied, p.endpoints} {
		select {
		case <-rung:
		default:
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { p.pipeline.Run(ctx) })
	wait.Go(func() { p.tracker.Run(ctx) })
	p.stop = func() {
		cancel()
		wait.Wait()
	}
}

// Apply implements [pipeline.Proxies].
func (p *plane) Apply(changes []xds.Change) map[xds.GroupID]string {
	states := p.cache.Apply(changes)
	p.count(len(changes), len(states), 0)
	if p.instant {
		for gateway, state := range states {
			p.tracker.Holds(first(gateway), state)
		}
	}
	if len(changes) > 0 {
		ring(p.applied)
	}
	return states
}

// Own implements [pipeline.Proxies]. Proxies have no owners here.
func (*plane) Own(xds.GroupID, string) {}

// ApplyEndpoints implements [pipeline.Proxies].
func (p *plane) ApplyEndpoints(changes map[string]*xds.Resource) {
	p.cache.ApplyEndpoints(changes)
	p.count(0, 0, len(changes))
	if len(changes) > 0 {
		ring(p.endpoints)
	}
}

func ring(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fleets and selectors take what would become objects of the cluster.
type fleets struct{}

func (fleets) Set(ir.Gateway)            {}
func (fleets) Release(ir.Name, ir.Fleet) {}
func (fleets) Delete(ir.Name)            {}
func (fleets) Freeze(ir.Gateway)         {}

type selectors struct{}

func (selectors) Set(ir.Selector)                  {}
func (selectors) Release(ir.BackendTarget, string) {}
func (selectors) Delete(ir.BackendTarget)          {}
