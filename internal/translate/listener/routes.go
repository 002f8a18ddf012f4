package listener

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// findRoutes says where the routes of a request are: in the chain's route table, or, if that is looked up by host, in a scope. A scope is
// found by the value of a header alone, which the connection manager sets whatever the client sent, and which goes as far as the colon
// before a port.
func findRoutes(manager *hcmv3.HttpConnectionManager, chain ir.Chain) {
	if !chain.ByHost {
		manager.RouteSpecifier = &hcmv3.HttpConnectionManager_Rds{
			Rds: &hcmv3.Rds{ConfigSource: wire.ADS(), RouteConfigName: chain.RouteTable.String()},
		}
		return
	}
	editEarly(manager, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
		Header: &corev3.HeaderValue{
			Key:   filter.ScopeHeader,
			Value: chain.RouteTable.String() + filter.ScopeSeparator + "%REQ(:AUTHORITY)%",
		},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}}})
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: scopedRoutes}
}

// scopedRoutes is the same for all chains, so that they share what the proxy keeps.
var scopedRoutes = &hcmv3.ScopedRoutes{
	Name: "scopes",
	ScopeKeyBuilder: &hcmv3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
		Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
			HeaderValueExtractor: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
				Name: filter.ScopeHeader, ElementSeparator: ":",
				ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{Index: 0},
			},
		},
	}}},
	RdsConfigSource: wire.ADS(),
	ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRds{ScopedRds: wire.Scopes()},
}
