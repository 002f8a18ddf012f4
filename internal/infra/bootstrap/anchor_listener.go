package bootstrap

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
	// AnchorMetadata is the key in the node metadata of a proxy that has an anchor.
	AnchorMetadata = "gatewright.dev/scopes-anchor"
	// anchorPort is not bound, but addresses of listeners must differ. The listeners that bisect a NACK count from port 1.
	anchorPort = 65535
)

// anchor is a listener that binds no port and serves no requests. It keeps the proxy subscribed to scopes while it runs: without a
// listener that uses them, Envoy drops the scopes that it receives, and acknowledges them nevertheless.
func anchor() (*listenerv3.Listener, error) {
	router, err := filter(wire.RouterFilter, &routerv3.Router{})
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
			Name:       wire.ConnectionManagerFilter,
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager},
		}}}},
	}, nil
}

// withAnchor adds the anchor to a proxy that is configured by xDS, and marks it in the metadata of the node.
func withAnchor(node *corev3.Node, listeners []*listenerv3.Listener) ([]*listenerv3.Listener, error) {
	l, err := anchor()
	if err != nil {
		return nil, err
	}
	node.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{AnchorMetadata: structpb.NewBoolValue(true)}}
	return append(listeners, l), nil
}
