package filter

import (
	"strconv"

	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// BeforeRouting is the name of the filter at one place, from 0, before a route is chosen for good. It runs the filter that a virtual host
// brings along for that place, and does nothing for one without. There is one for each, because a chain inside a single one goes no
// further once a filter of it has waited for an answer.
func BeforeRouting(place int) string { return "gatewright.before_routing." + strconv.Itoa(place) }

// The names of the filters, by which routes configure them.
const (
	// CORS answers preflight requests, and does nothing for a route without a policy.
	CORS = "envoy.filters.http.cors"
	// GRPCWeb runs the filter that makes gRPC of what browsers send, for virtual hosts that bring it along. It is run by another, because it
	// would do so for every host.
	GRPCWeb = "gatewright.grpc_web"
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
	{HideEnvoy, hideEnvoy},
	{Loops, loops},
	{CORS, &corsv3.Cors{}},
	{GRPCWeb, &compositev3.Composite{}},
	{ExternalAuth, &compositev3.Composite{}},
	{Session, &statefulsessionv3.StatefulSession{}},
	// Answers are not counted for each backend: where nobody asked for that, the bootstrap refuses such statistics, and Envoy finds that out
	// again for each of them, for each answer.
	{Router, &routerv3.Router{DynamicStats: wrapperspb.Bool(false)}},
}

// countingRouter ends the chains of proxies that are asked for the statistics of backends.
var countingRouter = step{Router, &routerv3.Router{}}

// Names lists the filters in order.
func Names() []string {
	names := make([]string, len(order))
	for i, s := range order {
		names[i] = s.name
	}
	return names
}

// Chain is the HTTP filters of a connection manager, in order, with so many places before routing. All connection managers of a fleet
// without any have the same.
func Chain(places int, countBackends bool) []*hcmv3.HttpFilter {
	filters := make([]*hcmv3.HttpFilter, 0, places+len(order))
	for _, s := range order {
		if s.name == Router && countBackends {
			s = countingRouter
		}
		filters = append(filters, s.filter())
		if s.name == Loops {
			// A request that loops is not sent to authorization servers.
			for place := range places {
				filters = append(filters, step{BeforeRouting(place), &compositev3.Composite{}}.filter())
			}
		}
	}
	return filters
}

func (s step) filter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: s.name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(s.config)}}
}
