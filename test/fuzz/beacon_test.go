//go:build fuzz

package fuzz

import (
	"errors"
	"fmt"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
	"github.com/gatewright/gatewright/internal/xds"
)

// What can go wrong.
var (
	errPanic      = errors.New("panic")
	errInvalid    = errors.New("let through by every resolver, and kept back by the last check")
	errRefused    = errors.New("refused by Envoy")
	errUnanswered = errors.New("not taken by Envoy in time")
	errEnvoyGone  = errors.New("the Envoy process has ended")
)

const beacon = "beacon/0"

// proxies passes resources on to the cache and sends a beacon with each batch, a route table that is different every time, so that
// there is always something for Envoy to take.
type proxies struct {
	cache  *xds.Cache
	group  xds.GroupID
	socket string
	batch  int

	nacks chan string
	taken chan struct{}

	metrics *prometheus.Registry

	mu sync.Mutex
	// wanted is the state that Envoy should have and has not yet, and held the one it has.
	wanted, held string
}

func newProxies(gateway ir.Name, socket string) *proxies {
	return &proxies{
		cache: xds.NewCache(), group: xds.GroupID(gateway), socket: socket,
		nacks: make(chan string, 1000), taken: make(chan struct{}, 1000), metrics: prometheus.NewRegistry(),
	}
}

// Apply implements [pipeline.Proxies].
func (p *proxies) Apply(changes []xds.Change) map[xds.GroupID]string {
	p.batch++
	changes = append(changes,
		xds.Change{Group: p.group, Type: xds.Listener, Name: beacon, Tables: []string{beacon}, Resource: resource(p.listener())},
		xds.Change{Group: p.group, Type: xds.RouteTable, Name: beacon, Resource: resource(&routev3.RouteConfiguration{Name: beacon})},
		xds.Change{Group: p.group, Type: xds.VirtualHost, Table: beacon, Name: "*", Resource: resource(&routev3.VirtualHost{
			Name: fmt.Sprint(p.batch), Domains: []string{"*"},
		})},
	)
	states := p.cache.Apply(changes)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = states[p.group]
	p.compare()
	return states
}

// Own implements [pipeline.Proxies]. Proxies have no owners here.
func (*proxies) Own(xds.GroupID, string) {}

// ApplyEndpoints implements [pipeline.Proxies].
func (p *proxies) ApplyEndpoints(changes map[string]*xds.Resource) { p.cache.ApplyEndpoints(changes) }

func (p *proxies) listener() *listenerv3.Listener {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:     beacon,
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{ConfigSource: wire.ADS(), RouteConfigName: beacon}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(&routerv3.Router{})},
		}},
	}
	return &listenerv3.Listener{
		Name: beacon, Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: p.socket}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(manager)},
		}}}},
	}
}

// quiet says whether Envoy has answered everything that was sent to it with nothing but yes.
func (p *proxies) quiet() bool {
	for _, n := range p.sent("nacks_total") {
		if n > 0 {
			return false
		}
	}
	return len(p.nacks) == 0
}

// sent reads one of the server's counters, by type of resource.
func (p *proxies) sent(name string) map[string]int64 {
	families, err := p.metrics.Gather()
	if err != nil {
		return nil
	}
	counts := map[string]int64{}
	for _, f := range families {
		if f.GetName() != "gatewright_xds_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			counts[m.GetLabel()[0].GetValue()] = int64(m.GetCounter().GetValue())
		}
	}
	return counts
}

// Connected implements [xds.Observer].
func (p *proxies) Connected(xds.Identity) {}

// Disconnected implements [xds.Observer].
func (p *proxies) Disconnected(xds.Identity) {}

// Holds implements [xds.Observer].
func (p *proxies) Holds(_ xds.Identity, state string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = state
	p.compare()
}

// Leaves implements [xds.Observer].
func (p *proxies) Leaves(xds.Identity) {}

// compare says when Envoy has come to have what it should.
func (p *proxies) compare() {
	if p.held == p.wanted && p.held != "" {
		p.wanted = ""
		p.taken <- struct{}{}
	}
}

// NACKed implements [xds.Observer].
func (p *proxies) NACKed(_ xds.Identity, r xds.NACK) {
	p.nacks <- fmt.Sprintf("%s %s %s %v: %s", r.Type, r.Table, r.Name, r.Routes, r.Reason)
}

func resource(m proto.Message) *xds.Resource {
	r, err := xds.NewResource(m)
	if err != nil {
		panic(err)
	}
	return r
}
