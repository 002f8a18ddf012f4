package filter

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// Envoy makes every filter of a chain anew for each request, and has the request and its answer pass it, which costs even where a filter
// has nothing to do. So a route table disables those that most routes do without ([Filter.OnDemand]), and a virtual host that has use for
// one enables it again.
//
// Which filters a request passes is decided once, by the route it finds at first. One that finds none passes all of them, and so does
// what FindHost finds a route for: nothing is left out that the route would want. Filters that may send a request to another route do not
// leave its virtual host, so what counts is whether any route of that has use for a filter.

// Unneeded is the typed_per_filter_config of every route table: it disables the filters that are there on demand, with or without those
// of extensions. It is not to be changed.
func Unneeded(extensions bool) map[string]*anypb.Any {
	if extensions {
		return unneeded
	}
	return withoutExtensions
}

var unneeded, withoutExtensions = func() (all, rest map[string]*anypb.Any) {
	all, rest = map[string]*anypb.Any{}, map[string]*anypb.Any{}
	for f := range ordered(0) {
		if !f.OnDemand {
			continue
		}
		all[f.Name] = disabled
		if !strings.HasPrefix(f.Name, extensionPrefix) {
			rest[f.Name] = disabled
		}
	}
	return all, rest
}()

var (
	disabled = wire.Any(&routev3.FilterConfig{Disabled: true})
	// enabled has settings that are there and empty, which is how Envoy is told.
	enabled = wire.Any(&routev3.FilterConfig{Config: &anypb.Any{}})
)

// Need enables, for a whole virtual host, the filters that one of its routes has settings for. Settings of the host itself enable one too.
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
		if unneeded[name] == nil || host.TypedPerFilterConfig[name] != nil {
			continue
		}
		if host.TypedPerFilterConfig == nil {
			host.TypedPerFilterConfig = map[string]*anypb.Any{}
		}
		host.TypedPerFilterConfig[name] = enabled
	}
}
