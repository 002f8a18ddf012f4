package bisect

import (
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// routesOf returns the routes of a virtual host, from its list or from its matcher. A matcher may contain a route several times.
func routesOf(host *routev3.VirtualHost) []*routev3.Route {
	routes := host.GetRoutes()
	if host.GetMatcher() == nil {
		return routes
	}
	found := map[string]bool{}
	_ = protorange.Options{Stable: true}.Range(host.GetMatcher().ProtoReflect(), func(p protopath.Values) error {
		message, ok := p.Index(-1).Value.Interface().(protoreflect.Message)
		if !ok {
			return nil
		}
		if route, ok := message.Interface().(*routev3.Route); ok {
			if content := string(packed(route).GetValue()); !found[content] {
				found[content] = true
				routes = append(routes, route)
			}
			return protorange.Break
		}
		return nil
	}, nil)
	return routes
}

// splitHost returns one host for the filter configuration of a host, and one for each of its routes.
func splitHost(p part) []part {
	var parts []part
	if config := p.host.GetTypedPerFilterConfig(); len(config) > 0 {
		host := &routev3.VirtualHost{Name: p.host.GetName(), Domains: p.host.GetDomains(), TypedPerFilterConfig: config}
		parts = append(parts, part{domain: p.domain, version: p.version, host: host, single: true, filters: true})
	}
	for _, route := range routesOf(p.host) {
		host := &routev3.VirtualHost{Name: p.host.GetName(), Domains: p.host.GetDomains(), Routes: []*routev3.Route{route}}
		parts = append(parts, part{domain: p.domain, version: p.version, host: host, single: true})
	}
	return parts
}

// RoutesThat returns the names of the routes of a serialized VirtualHost whose wire format a function accepts, each once.
func RoutesThat(config []byte, accept func(route []byte) bool) []string {
	host := &routev3.VirtualHost{}
	if proto.Unmarshal(config, host) != nil {
		return nil
	}
	var names []string
	for _, route := range routesOf(host) {
		if accept(packed(route).GetValue()) && !slices.Contains(names, route.GetName()) {
			names = append(names, route.GetName())
		}
	}
	return names
}
