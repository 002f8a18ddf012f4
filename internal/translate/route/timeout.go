package route

import (
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// patience is how long a stream may be idle on any listener. A rule that allows more time than that must say so too.
	patience = 5 * time.Minute
	// streamPatience is the same for gRPC and WebSockets, on which nothing may move for long. It has an end, because a client that
	// vanished looks the same.
	streamPatience = time.Hour
)

// timeouts always sets the route's timeout: Gateway API has no default, Envoy has 15 seconds.
func timeouts(action *routev3.RouteAction, f *ir.Forward, streams bool) {
	action.Timeout = durationpb.New(0)
	if streams {
		action.IdleTimeout = durationpb.New(streamPatience)
	}
	longest := f.RequestTimeout
	if longest == nil {
		longest = f.BackendTimeout
	} else if f.BackendTimeout != nil && *f.BackendTimeout > 0 {
		action.RetryPolicy = elsewhere(defaultRetries, unseen)
		action.RetryPolicy.PerTryTimeout = durationpb.New(*f.BackendTimeout)
	}
	if longest == nil {
		return
	}
	if f.RequestTimeout != nil || f.Retry == nil || f.Retry.Attempts == 0 {
		// Where a request is tried once, bounding the try bounds the exchange.
		action.Timeout = durationpb.New(*longest)
	}
	if *longest == 0 || *longest > max(patience, action.GetIdleTimeout().AsDuration()) {
		action.IdleTimeout = durationpb.New(*longest)
	}
}
