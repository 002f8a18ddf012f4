package route

import (
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	previousprioritiesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/priority/previous_priorities/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	// backoffGrowth is how many times its base a wait may become, as in Envoy's own default.
	backoffGrowth = 10
	// otherHosts is how often Envoy draws again for an endpoint that was not tried yet. Of two endpoints a draw finds the other one half of
	// the time; so often, one try in 131,072 finds the same.
	otherHosts = 16
	// defaultRetries is how often a request is sent again that no backend can have processed.
	defaultRetries = 2
	// retriedBody is how much of a body is kept for another try, for rules that ask for retries. A longer one is sent once.
	retriedBody = 1 << 20
)

// unseen are the failures after which the backend cannot have processed the request.
var unseen = []string{"connect-failure", "refused-stream", "reset-before-request"}

// saferRetries is what a virtual host has its routes do that say nothing else: send a request that no backend can have processed to another
// endpoint. It is not to be changed.
var saferRetries = elsewhere(defaultRetries, unseen)

// elsewhere sends a request again, to another endpoint where there is one.
func elsewhere(times uint32, conditions []string) *routev3.RetryPolicy {
	return &routev3.RetryPolicy{
		RetryOn:    strings.Join(conditions, ","),
		NumRetries: wrapperspb.UInt32(times),
		RetryHostPredicate: []*routev3.RetryPolicy_RetryHostPredicate{{
			Name:       "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{TypedConfig: wire.Any(&previoushostsv3.PreviousHostsPredicate{})},
		}},
		HostSelectionRetryMaxAttempts: otherHosts,
	}
}

// retries says when a request is sent again. Where nothing is said, the virtual host decides: see [saferRetries].
func retries(r *routev3.Route, action *routev3.RouteAction, p *ir.RequestPolicy, backends []ir.WeightedBackend) {
	switch {
	case p.Retry == nil && onlyPickersChoose(backends):
		// Endpoint picker protocol: the picker's list is walked if retries are configured.
		tryOnce(action)
		return
	case p.Retry == nil:
		return
	case p.Retry.Attempts == 0:
		tryOnce(action)
		return
	}
	r.RequestBodyBufferLimit = wrapperspb.UInt64(retriedBody)
	conditions := p.Retry.Triggers
	if len(conditions) == 0 {
		conditions = slices.Concat(unseen, []string{"unavailable", "retriable-status-codes"})
	}
	policy := elsewhere(p.Retry.Attempts, nil)
	policy.RetriableStatusCodes = p.Retry.Codes
	if timeout := tryTimeout(p); timeout > 0 {
		policy.PerTryTimeout = durationpb.New(timeout)
		if len(p.Retry.Triggers) == 0 {
			// The standard: a try that reaches the timeout is followed by the next. Envoy does not tell a timeout from a connection that was
			// reset after the request was sent, so that is tried again too.
			conditions = append(conditions, "reset")
		}
	}
	policy.RetryOn = strings.Join(conditions, ",")
	policy.RetryBackOff = backoff(p.Retry)
	if p.Retry.PerPriority > 0 {
		policy.RetryPriority = &routev3.RetryPolicy_RetryPriority{
			Name: "envoy.retry_priorities.previous_priorities",
			ConfigType: &routev3.RetryPolicy_RetryPriority_TypedConfig{TypedConfig: wire.Any(
				&previousprioritiesv3.PreviousPrioritiesConfig{UpdateFrequency: int32(p.Retry.PerPriority)}, //nolint:gosec // at most 100
			)},
		}
	}
	action.RetryPolicy = policy
}

// tryOnce has a request sent once: what a route says replaces what the virtual host says.
func tryOnce(action *routev3.RouteAction) {
	if action.RetryPolicy == nil {
		action.RetryPolicy = &routev3.RetryPolicy{}
	}
	action.RetryPolicy.RetryOn, action.RetryPolicy.NumRetries = "", wrapperspb.UInt32(0)
}

// onlyPickersChoose reports whether no backend has any endpoint chosen but by its picker.
func onlyPickersChoose(backends []ir.WeightedBackend) bool {
	return !slices.ContainsFunc(backends, func(b ir.WeightedBackend) bool { return b.Picker == nil || b.Picker.FailOpen })
}

// tryTimeout bounds one try: the rule's own timeout wins over that of a policy.
func tryTimeout(p *ir.RequestPolicy) time.Duration {
	switch {
	case p.BackendTimeout != nil:
		return *p.BackendTimeout
	case p.Retry != nil && p.Retry.TryTimeout != nil:
		return *p.Retry.TryTimeout
	default:
		return 0
	}
}

// defaultBackoff is Envoy's.
const defaultBackoff = 25 * time.Millisecond

func backoff(r *ir.Retry) *routev3.RetryPolicy_RetryBackOff {
	if r.Backoff == nil && r.MaxBackoff == nil {
		return nil
	}
	base := defaultBackoff
	if r.Backoff != nil {
		base = max(*r.Backoff, time.Millisecond)
	}
	longest := base
	switch {
	case r.MaxBackoff != nil:
		longest = max(*r.MaxBackoff, base)
	case base < time.Hour:
		// A longer one need not grow, and could grow beyond what a duration can be.
		longest = base * backoffGrowth
	}
	return &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(base), MaxInterval: durationpb.New(longest)}
}
