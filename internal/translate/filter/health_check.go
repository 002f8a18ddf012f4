package filter

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// HealthCheck answers the health checks of load balancers, at the path of the client policy.
const HealthCheck = wire.HealthCheckFilter

var healthCheck = Filter{
	Name: HealthCheck,
	Listener: func(_ *ir.Port, chain *ir.Chain) (proto.Message, bool) {
		path := chain.Client().HealthCheckPath
		if path == "" {
			return nil, false
		}
		return &healthv3.HealthCheck{
			PassThroughMode: wrapperspb.Bool(false),
			Headers: []*routev3.HeaderMatcher{{
				Name:                 ":path",
				HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: StringMatch(ir.StringMatch{Value: path})},
			}},
		}, true
	},
}
