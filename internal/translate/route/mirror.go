package route

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
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
			RuntimeFraction:               &corev3.RuntimeFractionalPercent{DefaultValue: wire.Share(uint64(m.Numerator), uint64(m.Denominator))},
			DisableShadowHostSuffixAppend: true,
		})
	}
	return policies
}
