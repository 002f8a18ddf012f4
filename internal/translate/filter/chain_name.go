package filter

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	filterstatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/set_filter_state/v3"
	setfilterstatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/set_filter_state/v3"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// ChainName is the filter state in which a connection carries the name of its chain to its requests, so that a route can tell by which
// chain a request came.
const ChainName = "gatewright.chain"

const setFilterState = "envoy.filters.network.set_filter_state"

// CarryChainName is the network filter that sets [ChainName]. It stands before the connection manager.
func CarryChainName(name string) *listenerv3.Filter {
	return &listenerv3.Filter{
		Name: setFilterState,
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(&setfilterstatev3.Config{
			OnNewConnection: []*filterstatev3.FilterStateValue{{
				Key:        &filterstatev3.FilterStateValue_ObjectKey{ObjectKey: ChainName},
				FactoryKey: "envoy.string",
				Value: &filterstatev3.FilterStateValue_FormatString{FormatString: &corev3.SubstitutionFormatString{
					Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
						Specifier: &corev3.DataSource_InlineString{InlineString: strings.ReplaceAll(name, "%", "%%")},
					}},
				}},
			}},
		})},
	}
}
