package render

import (
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// readyListener answers [ReadyPath], and 404 to everything else. An overloaded proxy still answers it: taking it out of service
// would only move its load to the others.
func readyListener(delivery ir.Delivery) (*listenerv3.Listener, error) {
	health, err := filter("envoy.filters.http.health_check", &healthv3.HealthCheck{
		PassThroughMode: wrapperspb.Bool(false),
		Headers: []*routev3.HeaderMatcher{{
			Name: ":path",
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
				MatchPattern: &matcherv3.StringMatcher_Exact{Exact: ReadyPath},
			}},
		}},
	})
	if err != nil {
		return nil, err
	}
	router, err := filter("envoy.filters.http.router", &routerv3.Router{})
	if err != nil {
		return nil, err
	}
	connections := &hcmv3.HttpConnectionManager{
		StatPrefix:     "ready",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: "ready"}},
		HttpFilters:    []*hcmv3.HttpFilter{health, router},
	}
	if delivery == ir.Files {
		connections.RouteSpecifier = loadedRoutes()
	}
	manager, err := pack(connections)
	if err != nil {
		return nil, err
	}
	return &listenerv3.Listener{
		Name: "ready",
		// By this name its statistics are known not to be about clients.
		StatPrefix:            ownListener + "ready",
		Address:               socketAddress("0.0.0.0", ReadyPort),
		BypassOverloadManager: true,
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager},
		}}}},
	}, nil
}

func filter(name string, config proto.Message) (*hcmv3.HttpFilter, error) {
	packed, err := pack(config)
	if err != nil {
		return nil, err
	}
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed}}, nil
}
