package filter

import (
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// Envoy's composite filter runs another filter that its per-route configuration holds, and does nothing without any. It is for filters
// whose own settings Envoy takes from no route. The second one with it needs a name of its own: `gatewright.<what it does>`.
var composite = &compositev3.Composite{}

// runs is the per-route configuration of a composite filter that runs another filter.
func runs(name string, config proto.Message) *compositev3.CompositePerRoute {
	return runsAll([]run{{name, config}})
}

// runsAll is the per-route configuration of a composite filter that runs filters one after the other. Only the last of them may wait for
// an answer: the ones behind it would not run.
func runsAll(filters []run) *compositev3.CompositePerRoute {
	// There is nothing to match, so this is what happens to every request.
	return &compositev3.CompositePerRoute{Matcher: &xdsmatcherv3.Matcher{OnNoMatch: executes(filters)}}
}

// executes ends a matcher with filters that run one after the other.
func executes(filters []run) *xdsmatcherv3.Matcher_OnMatch {
	action := &compositev3.ExecuteFilterAction{}
	if len(filters) == 1 {
		action.TypedConfig = &corev3.TypedExtensionConfig{Name: filters[0].name, TypedConfig: wire.Any(filters[0].config)}
	} else {
		action.FilterChain = &compositev3.FilterChainConfiguration{}
		for _, f := range filters {
			action.FilterChain.TypedConfig = append(action.FilterChain.TypedConfig,
				&corev3.TypedExtensionConfig{Name: f.name, TypedConfig: wire.Any(f.config)})
		}
	}
	return wire.Action(filters[len(filters)-1].name, action)
}
