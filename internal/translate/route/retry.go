package route

import (
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	// backoffGrowth is how many times its base a wait may become, as in Envoy's own default.
	backoffGrowth = 10
	// otherHosts is how often Envoy draws again for an endpoint that was not tried yet.
	otherHosts = 5
)

// unseen are the failures after which the backend can not have processed the request.
var unseen = []string{"connect-failure", "refused-stream", "unavailable", "reset-before-request"}

// retries sends a request again, to another endpoint where there is one.
func retries(action *routev3.RouteAction, f *ir.Forward) {
	if f.Retry == nil {
		return
	}
	conditions := slices.Concat(unseen, []string{"retriable-status-codes"})
	policy := &routev3.RetryPolicy{
		NumRetries:           wrapperspb.UInt32(f.Retry.Attempts),
		RetriableStatusCodes: f.Retry.Codes,
		RetryHostPredicate: []*routev3.RetryPolicy_RetryHostPredicate{{
			Name:       "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{TypedConfig: wire.Any(&previoushostsv3.PreviousHostsPredicate{})},
		}},
		HostSelectionRetryMaxAttempts: otherHosts,
	}
	if f.BackendTimeout != nil && *f.BackendTimeout > 0 {
		policy.PerTryTimeout = durationpb.New(*f.BackendTimeout)
		// The standard: a try that reaches the timeout is followed by the next. Envoy does not tell a timeout from a connection that was
		// reset after the request was sent, so that is tried again too.
		conditions = append(conditions, "reset")
	}
	policy.RetryOn = strings.Join(conditions, ",")
	if b := f.Retry.Backoff; b != nil {
		base := max(*b, time.Millisecond)
		longest := base
		if base < time.Hour {
			// A longer one need not grow, and could grow beyond what a duration can be.
			longest = base * backoffGrowth
		}
		policy.RetryBackOff = &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(base), MaxInterval: durationpb.New(longest)}
	}
	action.RetryPolicy = policy
}
