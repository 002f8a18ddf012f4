package filter

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	csrfv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/csrf/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// CSRF refuses requests of other origins that change something.
const CSRF = "gatewright.csrf"

var csrf = runsByPolicy(CSRF, func(policy *ir.RequestPolicy) []run {
	c := policy.CSRF
	if c == nil || c.Guard == ir.Off {
		return nil
	}
	config := &csrfv3.CsrfPolicy{FilterEnabled: share(ir.Fraction{Numerator: 1, Denominator: 1})}
	if n, d := c.Shadow.Numerator, c.Shadow.Denominator; n > 0 {
		// Envoy draws for each of the two. A request that is not refused has to be counted in any case, or it would pass unseen.
		config.FilterEnabled, config.ShadowEnabled = share(ir.Fraction{Numerator: d - n, Denominator: d}), config.GetFilterEnabled()
	}
	for _, origin := range c.Origins {
		config.AdditionalOrigins = append(config.AdditionalOrigins, StringMatch(origin))
	}
	return []run{{"envoy.filters.http.csrf", config}}
})

func share(f ir.Fraction) *corev3.RuntimeFractionalPercent {
	return &corev3.RuntimeFractionalPercent{DefaultValue: wire.Share(uint64(f.Numerator), uint64(f.Denominator))}
}
