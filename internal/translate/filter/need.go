package filter

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// Envoy makes every filter of a chain anew for each request, and has the request and its answer pass it, which costs even where a filter
// has nothing to do. So a route table switches off those that most routes do without, and a virtual host that has use for one switches it
// on again.
//
// Which filters a request passes is decided once, by the route it finds at first. One that finds none passes all of them, and so does
// what FindHost finds a route for: nothing is left out that the route would want. Filters that may send a request to another route do not
// leave its virtual host, so what counts is whether any route of that has use for a filter.

// Unneeded is what a route table says of filters: that they are off. It is not to be changed.
func Unneeded() map[string]*anypb.Any { return unneeded }

var unneeded = func() map[string]*anypb.Any {
	off := map[string]*anypb.Any{FindHost: switchedOff}
	for _, s := range order {
		if s.name != Router && s.name != Loops && s.name != HideEnvoy {
			off[s.name] = switchedOff
		}
	}
	return off
}()

var (
	switchedOff = wire.Any(&routev3.FilterConfig{Disabled: true})
	// switchedOn has settings that are there and empty, which is how Envoy is told.
	switchedOn = wire.Any(&routev3.FilterConfig{Config: &anypb.Any{}})
)

// Need switches on, for a whole virtual host, the filters that one of its routes has settings for.
func Need(host *routev3.VirtualHost, routes []*routev3.Route) {
	for _, r := range routes {
		need(host, r.GetTypedPerFilterConfig())
		for _, share := range r.GetRoute().GetWeightedClusters().GetClusters() {
			need(host, share.GetTypedPerFilterConfig())
		}
	}
}

func need(host *routev3.VirtualHost, settings map[string]*anypb.Any) {
	for name := range settings {
		if unneeded[name] == nil {
			continue
		}
		if host.TypedPerFilterConfig == nil {
			host.TypedPerFilterConfig = map[string]*anypb.Any{}
		}
		host.TypedPerFilterConfig[name] = switchedOn
	}
}
