package route

import (
	"strconv"
	"time"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// mirrorTimeout is how long the answer to a copy is waited for where the route has no timeout: Envoy's own default for requests.
const mirrorTimeout = 15 * time.Second

// mirrors copies requests as they are, with the Host they came with. A backend that cannot be resolved gets no copy, and the request
// is served all the same. A copy has the timeout of the route if it has one.
func mirrors(all []ir.Mirror, limited bool) []*routev3.RouteAction_RequestMirrorPolicy {
	var policies []*routev3.RouteAction_RequestMirrorPolicy
	for _, m := range all {
		if m.Backend.IsZero() {
			continue
		}
		policy := &routev3.RouteAction_RequestMirrorPolicy{
			Cluster:                       m.Backend.String(),
			RuntimeFraction:               &corev3.RuntimeFractionalPercent{DefaultValue: wire.Share(uint64(m.Numerator), uint64(m.Denominator))},
			DisableShadowHostSuffixAppend: true,
			RequestHeadersMutations:       []*mutationv3.HeaderMutation{hopsOfCopy},
		}
		if !limited {
			policy.RequestHeadersMutations = append(policy.RequestHeadersMutations, timeoutOfCopy)
		}
		policies = append(policies, policy)
	}
	return policies
}

// hopsOfCopy ends copies that loop sooner than requests.
var hopsOfCopy = &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: filter.CountCopy()}}

// timeoutOfCopy is read by the router when it sends the copy, and removed from it. A copy that is never answered would be kept for ever
// otherwise.
var timeoutOfCopy = &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
	Header:       &corev3.HeaderValue{Key: "x-envoy-upstream-rq-timeout-ms", Value: strconv.FormatInt(mirrorTimeout.Milliseconds(), 10)},
	AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
}}}
