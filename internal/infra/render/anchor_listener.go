package render

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/drain"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	// anchorListener is the name of the anchor.
	anchorListener = "scopes-anchor"
	// AnchorMetadata is the key in the metadata of a node by which a proxy says that it has an anchor.
	AnchorMetadata = "gatewright.dev/scopes-anchor"
	// anchorPort is not bound. Addresses of listeners must differ all the same, and the probes of refused routes count from 1.
	anchorPort = 65535
)

// anchor is a listener that binds no port and serves nobody. It keeps the proxy subscribed to scopes for as long as it lives: without a
// listener that uses them, Envoy drops the scopes that it is sent, and acknowledges them all the same.
func anchor() (*listenerv3.Listener, error) {
	router, err := filter("envoy.filters.http.router", &routerv3.Router{})
	if err != nil {
		return nil, err
	}
	manager, err := pack(&hcmv3.HttpConnectionManager{
		StatPrefix: anchorListener,
		RouteSpecifier: &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{
			Name: "scopes",
			ScopeKeyBuilder: &hcmv3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
				Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
					HeaderValueExtractor: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
						Name:        "x-none",
						ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{},
					},
				},
			}}},
			RdsConfigSource: wire.ADS(),
			ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRds{ScopedRds: wire.Scopes()},
		}},
		HttpFilters: []*hcmv3.HttpFilter{router},
	})
	if err != nil {
		return nil, err
	}
	return &listenerv3.Listener{
		Name:       anchorListener,
		StatPrefix: drain.OwnListener + anchorListener,
		BindToPort: wrapperspb.Bool(false),
		Address:    socketAddress("127.0.0.1", anchorPort),
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager},
		}}}},
	}, nil
}

// keepScopes adds the anchor to a proxy that is configured by xDS, and has the proxy say so.
func keepScopes(node *corev3.Node, listeners []*listenerv3.Listener) ([]*listenerv3.Listener, error) {
	l, err := anchor()
	if err != nil {
		return nil, err
	}
	node.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{AnchorMetadata: structpb.NewBoolValue(true)}}
	return append(listeners, l), nil
}
