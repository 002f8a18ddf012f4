package filter

import (
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// The names of the filters, by which routes configure them.
const (
	// CORS answers preflight requests, and does nothing for a route without a policy.
	CORS = "envoy.filters.http.cors"
	// ExternalAuth runs the authorization filter that a route brings along, and does nothing for a route without one. The filter itself has
	// settings that Envoy takes from no route.
	ExternalAuth = "envoy.filters.http.composite"
	// Session keeps a client on an endpoint, and does nothing for a route without a session.
	Session = "envoy.filters.http.stateful_session"
	// Router sends a request on. It ends every chain.
	Router = "envoy.filters.http.router"
)

// step is one HTTP filter. Its configuration is the same everywhere, because changing it drains every connection of the listener:
// whatever differs between routes belongs in a route's typed_per_filter_config.
type step struct {
	name   string
	config proto.Message
}

// order is the way of a request through a proxy, from the client's side. A response takes it backwards.
var order = []step{
	{CORS, &corsv3.Cors{}},
	{ExternalAuth, &compositev3.Composite{}},
	{Session, &statefulsessionv3.StatefulSession{}},
	{Router, &routerv3.Router{}},
}

// Names lists the filters in order.
func Names() []string {
	names := make([]string, len(order))
	for i, s := range order {
		names[i] = s.name
	}
	return names
}

// Chain is the HTTP filters of every connection manager, in order.
func Chain() []*hcmv3.HttpFilter {
	filters := make([]*hcmv3.HttpFilter, len(order))
	for i, s := range order {
		filters[i] = &hcmv3.HttpFilter{
			Name:       s.name,
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(s.config)},
		}
	}
	return filters
}
