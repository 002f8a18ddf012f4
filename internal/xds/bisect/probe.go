package bisect

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ProbeName is the name of the probe listener with this number in a step.
func ProbeName(i int) string { return fmt.Sprintf("probe/%d", i) }

// probeListener returns a listener with the parts of a virtual host. It binds no port, so it gets no traffic.
func probeListener(number int, header []byte, parts []part) *listenerv3.Listener {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:     "probe",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: probeRoutes(header, parts)},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "envoy.filters.http.router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(&routerv3.Router{})},
		}},
	}
	return &listenerv3.Listener{
		Name:       ProbeName(number),
		BindToPort: wrapperspb.Bool(false),
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			// Envoy wants different addresses, even for listeners that do not bind.
			Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(number) + 1}, //nolint:gosec // at most maxProbes
		}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "envoy.filters.network.http_connection_manager", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed(manager)},
		}}}},
	}
}

// probeRoutes returns a RouteConfiguration with the parts, those of one domain in one host.
func probeRoutes(header []byte, parts []part) *routev3.RouteConfiguration {
	table := &routev3.RouteConfiguration{}
	if proto.Unmarshal(header, table) != nil {
		table = &routev3.RouteConfiguration{}
	}
	table.ValidateClusters = wrapperspb.Bool(false)
	hosts := map[string]*routev3.VirtualHost{}
	for _, part := range parts {
		if host := hosts[part.domain]; host != nil {
			// The part with the filter configuration comes first.
			host.Routes = append(host.Routes, part.host.GetRoutes()...)
			continue
		}
		hosts[part.domain] = part.host
		if part.single {
			hosts[part.domain] = &routev3.VirtualHost{
				Name: part.host.GetName(), Domains: part.host.GetDomains(),
				Routes: part.host.GetRoutes(), TypedPerFilterConfig: part.host.GetTypedPerFilterConfig(),
			}
		}
		table.VirtualHosts = append(table.VirtualHosts, hosts[part.domain])
	}
	return table
}

// packed cannot fail for a message that was unmarshalled before.
func packed(message proto.Message) *anypb.Any {
	body := &anypb.Any{}
	_ = anypb.MarshalFrom(body, message, proto.MarshalOptions{Deterministic: true})
	return body
}
