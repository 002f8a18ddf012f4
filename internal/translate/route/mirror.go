package route

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// mirrors copies requests as they are, with the Host they came with. A backend that can not be resolved gets no copy, and the request
// is served all the same.
func mirrors(all []ir.Mirror) []*routev3.RouteAction_RequestMirrorPolicy {
	var policies []*routev3.RouteAction_RequestMirrorPolicy
	for _, m := range all {
		if m.Backend == "" {
			continue
		}
		policies = append(policies, &routev3.RouteAction_RequestMirrorPolicy{
			Cluster:                       m.Backend,
			RuntimeFraction:               &corev3.RuntimeFractionalPercent{DefaultValue: share(uint64(m.Numerator), uint64(m.Denominator))},
			DisableShadowHostSuffixAppend: true,
		})
	}
	return policies
}

// share is a fraction in the denominators Envoy has: hundredths where they are exact, otherwise the nearest millionth. A fraction of
// nothing is the whole.
func share(n, d uint64) *typev3.FractionalPercent {
	const hundred, million = 100, 1_000_000
	if d == 0 || n >= d {
		n, d = 1, 1
	}
	parts, in := (n*million+d/2)/d, typev3.FractionalPercent_MILLION
	if n*hundred%d == 0 {
		parts, in = n*hundred/d, typev3.FractionalPercent_HUNDRED
	}
	return &typev3.FractionalPercent{Numerator: uint32(parts), Denominator: in} //nolint:gosec // at most a million, as n is at most d
}
