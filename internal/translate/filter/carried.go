package filter

import (
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
func CarryChainName(name string) *listenerv3.Filter { return carry(carried(ChainName, name)) }

// PlaceKept is the value of the filter state [BeforeRouting] in connections whose connection manager has the filter of that name. A
// connection that is older than the filter goes on for a while with the requests it gets, and a route can tell.
const PlaceKept = "yes"

// CarryPlaces is the network filter that sets [PlaceKept] for so many filters. It stands before the connection manager.
func CarryPlaces(places int) *listenerv3.Filter {
	values := make([]*filterstatev3.FilterStateValue, 0, places)
	for place := range places {
		values = append(values, carried(BeforeRouting(place), PlaceKept))
	}
	return carry(values...)
}

func carry(values ...*filterstatev3.FilterStateValue) *listenerv3.Filter {
	return &listenerv3.Filter{
		Name:       setFilterState,
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(&setfilterstatev3.Config{OnNewConnection: values})},
	}
}

func carried(key, value string) *filterstatev3.FilterStateValue {
	return &filterstatev3.FilterStateValue{
		Key:        &filterstatev3.FilterStateValue_ObjectKey{ObjectKey: key},
		FactoryKey: "envoy.string",
		Value: &filterstatev3.FilterStateValue_FormatString{FormatString: &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: wire.Literal(value)},
			}},
		}},
	}
}
