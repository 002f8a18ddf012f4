package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
	"github.com/gatewright/gatewright/test/simulation/model"
)

// drainTime is that of the proxies of a fleet.
const drainTime = time.Minute

// Config is what there is at the start.
type Config struct {
	Replicas, Gateways int
	// Proxies is how many each Gateway has, and Anchored says of each whether its bootstrap has the anchor.
	Proxies  int
	Anchored []bool
	// Routes are the slots that have a route at the start, in the order in which they are made.
	Routes []int
	// Listeners is the mask of the listeners that Gateways have.
	Listeners int
	// NACKs says that users may write what proxies reject.
	NACKs bool
	// Ignore has the letters of what need not hold.
	Ignore string
}

// simulation is one world.
type simulation struct {
	Config
	ctx      context.Context
	stop     context.CancelFunc
	api      *apiServer
	replicas []*replica
	// all has those that have crashed too.
	all []*replica
	// started counts the starts of each replica, so that each has an address of its own; strangers are those that have not been told who
	// the others are.
	started   []int
	strangers []bool
	// leader holds the lease, -1 if none does.
	leader  int
	proxies []*proxy
	// mu guards replicas for those that are not the scheduler.
	mu sync.Mutex
	// woken has something when something waits for its turn.
	woken chan struct{}
	// orphans are streams that proxies have left and replicas have not noticed.
	orphans []*link

	stamp  int
	stamps map[string]int
	claims map[claim]promise
	// moved are the listeners, by Gateway and port, that have come or gone since everything was at rest.
	moved map[[2]int]bool
	// tick counts starts of replicas and changes of routes. born is when each running replica started, and replaced when the version of each
	// route was replaced that was Programmed last.
	tick     int
	born     map[*replica]int
	replaced map[int]int
	problem  string
	log      []string
}

// proxy is a pod with an Envoy.
type proxy struct {
	name     string
	gateway  int
	anchored bool
	envoy    *model.Envoy
	link     *link
}

func newSimulation(c Config) *simulation {
	s := &simulation{
		Config: c, leader: -1, stamps: map[string]int{}, claims: map[claim]promise{}, born: map[*replica]int{}, replaced: map[int]int{},
		moved: map[[2]int]bool{}, woken: make(chan struct{}, 1),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.api = &apiServer{objects: map[ref]runtimeclient.Object{}, notify: s.notify}
	s.replicas, s.started, s.strangers = make([]*replica, c.Replicas), make([]int, c.Replicas), make([]bool, c.Replicas)
	s.api.put(store.GatewayClass, newClass())
	s.api.put(store.Namespace, newNamespace())
	for g := range c.Gateways {
		s.api.put(store.Gateway, newGateway(g, c.Listeners))
		if c.Listeners&2 != 0 {
			s.api.put(store.Secret, newSecret(g, 0))
		}
		for n := range services {
			s.api.put(store.Service, newService(g, n))
			s.api.put(store.EndpointSlice, newEndpoints(g, n, 0))
		}
		s.api.put(store.EndpointSlice, newFleet(g, nil))
		for n := range c.Proxies {
			p := &proxy{name: fmt.Sprintf("p-%s-%d", gateways[g], n), gateway: g, anchored: c.Anchored[len(s.proxies)]}
			s.proxies = append(s.proxies, p)
			s.restart(p)
		}
	}
	for _, i := range c.Routes {
		s.putRoute(i, 0, false)
	}
	for i := range s.replicas {
		s.startReplica(i)
	}
	s.elect(0)
	return s
}

// end stops everything.
func (s *simulation) end() {
	s.stop()
	synctest.Wait()
	for _, r := range s.all {
		// A writer that does not mind the end of its term must not keep the bubble from ending.
		for c := r.takeCall(true, true); c != nil; c = r.takeCall(true, true) {
			c.done <- errUnavailable
			synctest.Wait()
		}
	}
}

func (s *simulation) violate(format string, args ...any) {
	if s.problem == "" && !strings.Contains(s.Ignore, format[1:2]) {
		s.problem = fmt.Sprintf(format, args...)
	}
}

func (s *simulation) notify(e event) {
	for _, r := range s.replicas {
		if r != nil {
			r.pending[e.kind] = append(r.pending[e.kind], e)
		}
	}
}

func (s *simulation) putRoute(i, backend int, spoil bool) {
	s.stamp++
	r := newRoute(i, backend, s.stamp, spoil)
	s.api.put(store.HTTPRoute, r)
	s.stamps[versionOf(r)] = s.stamp
}

// versionOf names a specification of a route.
func versionOf(r *gwv1.HTTPRoute) string { return fmt.Sprintf("%s/%d", r.UID, r.Generation) }

// restart has a new Envoy in the pod.
func (s *simulation) restart(p *proxy) {
	s.leave(p)
	s.undecide(p, func(string) bool { return true })
	node := &corev3.Node{Id: p.name, Cluster: groupOf(p.gateway).String()}
	anchor := ""
	if p.anchored {
		anchor = anchorScopes
		node.Metadata = anchorMetadata
	}
	p.envoy = model.New(model.Options{Node: node, Anchor: anchor, Drain: drainTime, Now: time.Now})
}

// undecide says that what was decided so far of some routes says nothing about a proxy.
func (s *simulation) undecide(p *proxy, of func(route string) bool) {
	for _, r := range s.replicas {
		if r != nil {
			r.forget(p.name, of)
		}
	}
}

// leave has a proxy lose its stream. What is under way is lost.
func (s *simulation) leave(p *proxy) {
	if p.link == nil {
		return
	}
	s.orphans = append(s.orphans, p.link)
	p.link = nil
	p.envoy.Disconnect()
}

func (s *simulation) connect(p *proxy, r *replica) {
	l := newLink(r)
	p.link = l
	if len(unread(r)) > 0 {
		// The replica may not know what the proxy has, and take it away.
		s.dropClaims(func(c claim) bool { return s.proxies[c.proxy] == p })
	}
	// That the proxy has a route may be decided and not yet written.
	s.undecide(p, func(route string) bool {
		return slices.ContainsFunc(r.pending[store.HTTPRoute], func(e event) bool { return e.key == route && !e.statusOnly })
	})
	r.streams++
	go r.serve(xds.Identity{Group: groupOf(p.gateway), Pod: p.name}, r.streams, l)
	p.envoy.Connect(l.ask)
}

// unread are the kinds of which events have not arrived that say more than a status.
func unread(r *replica) []store.Kind {
	var kinds []store.Kind
	for _, kind := range slices.Sorted(maps.Keys(r.pending)) {
		if slices.ContainsFunc(r.pending[kind], func(e event) bool { return !e.statusOnly }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func (s *simulation) openPeer(ctx context.Context, from *replica, to string) (*link, error) {
	s.mu.Lock()
	replicas := slices.Clone(s.replicas)
	s.mu.Unlock()
	for _, r := range replicas {
		if r == nil || r.name != to {
			continue
		}
		l := newLink(r)
		context.AfterFunc(ctx, l.cancel)
		go r.serve(xds.Identity{Pod: from.name}, 0, l)
		return l, nil
	}
	return nil, errCut
}

func (s *simulation) startReplica(i int) {
	s.started[i]++
	r := newReplica(s.ctx, fmt.Sprintf("replica-%d-%d", i, s.started[i]), s.openPeer, s.wake)
	r.number = i
	r.start(s.api.objects)
	s.mu.Lock()
	s.replicas[i] = r
	s.mu.Unlock()
	s.all = append(s.all, r)
	s.tick++
	s.born[r] = s.tick
	for j := range s.strangers {
		s.strangers[j] = true
	}
	s.wait()
}

func (s *simulation) crash(i int) {
	r := s.replicas[i]
	// The kernel closes its connections, whether or not it was stopped before.
	r.paused = false
	r.stop()
	s.mu.Lock()
	s.replicas[i] = nil
	s.mu.Unlock()
	if s.leader == i {
		s.leader = -1
	}
	for _, p := range s.proxies {
		if p.link != nil && p.link.ctx.Err() != nil {
			p.link = nil
			p.envoy.Disconnect()
		}
	}
	for j := range s.strangers {
		s.strangers[j] = true
	}
	s.dropForgotten()
}

// dropForgotten drops the claims of routes that proxies refuse in their present version, if no replica has ever known the one that they
// took last.
func (s *simulation) dropForgotten() {
	s.dropClaims(func(c claim) bool {
		return s.api.route(c.slot) != nil && spoiled(s.api.route(c.slot)) && !slices.ContainsFunc(s.replicas, func(r *replica) bool {
			return r != nil && s.born[r] < s.replaced[c.slot]
		})
	})
}

// elect moves the lease. A leader that is paused does not know that it has lost it.
func (s *simulation) elect(i int) {
	if s.leader >= 0 {
		if before := s.replicas[s.leader]; before.paused {
			before.lost = true
		} else {
			before.follow()
			s.wait()
		}
	}
	if s.leader = i; i >= 0 {
		s.replicas[i].lost = false
		s.replicas[i].lead()
	}
}

// sleep lets time pass, and has Envoys do what they do by themselves.
func (s *simulation) sleep(d time.Duration) {
	until := time.Now().Add(d)
	for s.problem == "" {
		next := until
		for _, p := range s.proxies {
			if t := p.envoy.Deadline(); !t.IsZero() && t.Before(next) {
				next = t
			}
		}
		s.sleepUntil(next)
		for _, p := range s.proxies {
			if t := p.envoy.Deadline(); !t.IsZero() && !t.After(next) {
				s.logf("%s: time passes", p.name)
				p.envoy.Tick()
			}
		}
		s.check()
		if !next.Before(until) {
			return
		}
	}
}

func (s *simulation) logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}
