package route

import (
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// patience is how long a stream may be idle on any listener. A rule that allows more time than that must say so too.
const patience = 5 * time.Minute

// timeouts always sets the route's timeout: Gateway API has no default, Envoy has 15 seconds.
func timeouts(action *routev3.RouteAction, f *ir.Forward) {
	action.Timeout = durationpb.New(0)
	longest := f.RequestTimeout
	if longest == nil {
		longest = f.BackendTimeout
	} else if f.BackendTimeout != nil && *f.BackendTimeout > 0 {
		action.RetryPolicy = &routev3.RetryPolicy{
			NumRetries:    wrapperspb.UInt32(0),
			PerTryTimeout: durationpb.New(*f.BackendTimeout),
		}
	}
	if longest == nil {
		return
	}
	if f.RequestTimeout != nil || f.Retry == nil {
		// Where a request is tried once, bounding the try bounds the exchange.
		action.Timeout = durationpb.New(*longest)
	}
	if *longest == 0 || *longest > patience {
		action.IdleTimeout = durationpb.New(*longest)
	}
}
