package route

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
)

// Table is a route table without its virtual hosts, which are delivered beside or inside it. Its listeners have
// the filters of extensions or not.
func Table(id ir.TableID, extensions bool) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{
		Name: id.String(),
		// Gateway API: hostnames of routes match whatever port the Host header carries.
		IgnorePortInHostMatching: true,
		// One rule with a backend that is not there must not make Envoy refuse the table; see UnresolvedBackend.
		ValidateClusters: wrapperspb.Bool(false),
		// It has done its work once there is a route.
		RequestHeadersToRemove: []string{filter.ScopeHeader},
		RequestHeadersToAdd:    []*corev3.HeaderValueOption{filter.CountHop()},
		TypedPerFilterConfig:   filter.Unneeded(extensions),
	}
}
