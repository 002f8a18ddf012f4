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

// runs is the per-route configuration of a composite filter that runs another filter.
func runs(name string, config proto.Message) *compositev3.CompositePerRoute {
	action := &compositev3.ExecuteFilterAction{
		TypedConfig: &corev3.TypedExtensionConfig{Name: name, TypedConfig: wire.Any(config)},
	}
	// There is nothing to match, so this is what happens to every request.
	return &compositev3.CompositePerRoute{Matcher: &xdsmatcherv3.Matcher{OnNoMatch: wire.Action(name, action)}}
}
