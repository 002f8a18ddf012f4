package route

import (
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// idleTimeout is how long a stream may be idle on any listener. A rule that allows more time than that must say so too.
	idleTimeout = 5 * time.Minute
	// streamIdleTimeout is the same for gRPC and WebSockets, on which nothing may move for long. It has an end, because a client that
	// vanished looks the same.
	streamIdleTimeout = time.Hour
)

// timeouts always sets the route's timeout: Gateway API has no default, Envoy has 15 seconds.
func timeouts(action *routev3.RouteAction, p *ir.RequestPolicy, streams bool) {
	action.Timeout = durationpb.New(0)
	if streams {
		action.IdleTimeout = durationpb.New(streamIdleTimeout)
	}
	longest := p.RequestTimeout
	if longest == nil {
		longest = p.BackendTimeout
	} else if p.BackendTimeout != nil && *p.BackendTimeout > 0 {
		action.RetryPolicy = elsewhere(defaultRetries, unseen)
		action.RetryPolicy.PerTryTimeout = durationpb.New(*p.BackendTimeout)
	}
	defer streamTimeouts(action, p)
	if longest == nil {
		return
	}
	if p.RequestTimeout != nil || p.Retry == nil || p.Retry.Attempts == 0 {
		// Where a request is tried once, bounding the try bounds the exchange.
		action.Timeout = durationpb.New(*longest)
	}
	if *longest == 0 || *longest > max(idleTimeout, action.GetIdleTimeout().AsDuration()) {
		action.IdleTimeout = durationpb.New(*longest)
	}
}

// streamTimeouts are those that policies have and rules do not.
func streamTimeouts(action *routev3.RouteAction, p *ir.RequestPolicy) {
	if p.StreamIdleTimeout != nil {
		action.IdleTimeout = durationpb.New(*p.StreamIdleTimeout)
	}
	if p.MaxStreamDuration != nil {
		action.MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(*p.MaxStreamDuration)}
	}
}
