package filter

import (
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// Router sends a request on.
const Router = wire.RouterFilter

// router counts answers for each backend only where that is asked for: elsewhere the bootstrap refuses such statistics, and Envoy finds
// that out again for each of them, for each answer.
var router = Filter{
	Name: Router,
	Listener: func(port *ir.Port, _ *ir.Chain) (proto.Message, bool) {
		if port.CountBackends {
			return &routerv3.Router{}, true
		}
		return &routerv3.Router{DynamicStats: wrapperspb.Bool(false)}, true
	},
}
