package filter

import (
	"iter"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// Filter is one HTTP filter. Its place among the others is its place in [order]. Each function returns false where there is nothing to
// configure, and is nil where there never is.
type Filter struct {
	// Name is the name in an HttpConnectionManager, and the key in typed_per_filter_config.
	Name string
	// OnDemand says that route tables disable the filter, and that virtual hosts enable it which have per-route configuration for it. See
	// need.go.
	OnDemand bool
	// Listener is the configuration in an HttpConnectionManager; false says that the filter is not there. It must not depend on routes:
	// changing it drains every connection of the listener.
	Listener func(*ir.Port, *ir.Chain) (proto.Message, bool)
	// VirtualHost is the per-route configuration for all requests of a virtual host, Route for those of one rule, and Backend for those
	// that the weights of a rule give to one backend. Envoy uses the most specific.
	VirtualHost func(*ir.VirtualHost) (proto.Message, bool)
	Route       func(*ir.VirtualHost, *ir.Rule) (proto.Message, bool)
	Backend     func(*ir.WeightedBackend) (proto.Message, bool)
	// At is set instead of all other fields for a filter that stands there several times, once for each filter of a listener. It returns
	// the one at a place, from 0.
	At func(place int) Filter
	// Places is how often a filter with At stands there, 0 for once for each filter of a listener.
	Places int
}

// ordered are the filters in their order, with those that stand there for so many filters of a listener.
func ordered(places int) iter.Seq[*Filter] {
	return func(yield func(*Filter) bool) {
		for i := range placed {
			if placed[i].At == nil {
				if !yield(&placed[i]) {
					return
				}
				continue
			}
			for place := range places {
				if at := placed[i].At(place); !yield(&at) {
					return
				}
			}
		}
	}
}

// placed is [order] with each filter that stands there a fixed number of times in its places. It is read for every route.
var placed = func() []Filter {
	var all []Filter
	for _, f := range order {
		if f.Places == 0 {
			all = append(all, f)
		}
		for place := range f.Places {
			all = append(all, f.At(place))
		}
	}
	return all
}()

// Names lists the filters in their order, with those that stand there for so many filters of a listener.
func Names(places int) []string {
	var names []string
	for f := range ordered(places) {
		names = append(names, f.Name)
	}
	return names
}

// Chain is the HTTP filters of a connection manager, in their order.
func Chain(port *ir.Port, chain *ir.Chain) []*hcmv3.HttpFilter {
	filters := make([]*hcmv3.HttpFilter, 0, chain.Filters+len(order))
	for f := range ordered(chain.Filters) {
		if config, ok := f.Listener(port, chain); ok {
			filters = append(filters, &hcmv3.HttpFilter{
				Name: f.Name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(config)},
			})
		}
	}
	return filters
}

// VirtualHost is the typed_per_filter_config of a virtual host, nil for none. What its routes need is added by [Need].
func VirtualHost(host *ir.VirtualHost) map[string]*anypb.Any {
	var configs map[string]*anypb.Any
	for f := range ordered(len(host.Filters)) {
		if f.VirtualHost == nil {
			continue
		}
		if config, ok := f.VirtualHost(host); ok {
			configs = f.add(configs, config)
		}
	}
	return configs
}

// Route is the typed_per_filter_config of the routes that a rule becomes, nil for none.
func Route(host *ir.VirtualHost, rule *ir.Rule) map[string]*anypb.Any {
	var configs map[string]*anypb.Any
	for f := range ordered(len(host.Filters)) {
		if f.Route == nil {
			continue
		}
		if config, ok := f.Route(host, rule); ok {
			configs = f.add(configs, config)
		}
	}
	return configs
}

// Backend adds to the typed_per_filter_config of a weighted cluster, or of the route that has one backend only.
func Backend(configs map[string]*anypb.Any, backend *ir.WeightedBackend) map[string]*anypb.Any {
	for f := range ordered(0) {
		if f.Backend == nil {
			continue
		}
		if config, ok := f.Backend(backend); ok {
			configs = f.add(configs, config)
		}
	}
	return configs
}

// add adds the filter's configuration to those of others.
func (f *Filter) add(configs map[string]*anypb.Any, config proto.Message) map[string]*anypb.Any {
	return with(configs, f.Name, wire.Any(config))
}

func with(configs map[string]*anypb.Any, name string, config *anypb.Any) map[string]*anypb.Any {
	if configs == nil {
		configs = map[string]*anypb.Any{}
	}
	configs[name] = config
	return configs
}

// everywhere is the configuration of a filter that is the same in every listener.
func everywhere(config proto.Message) func(*ir.Port, *ir.Chain) (proto.Message, bool) {
	return func(*ir.Port, *ir.Chain) (proto.Message, bool) { return config, true }
}
