package security

import (
	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/fraction"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

func (r *resolver) csrf(c *v1alpha1.CSRF) *ir.CSRF {
	policy := &ir.CSRF{}
	policy.Guard = r.guard(c.Mode, func() {
		for _, origin := range c.AdditionalOrigins {
			policy.Origins = append(policy.Origins, header.OriginHostMatch(string(origin)))
		}
		var message string
		if policy.Shadow, message = fraction.Parse("csrf.shadowFraction", c.ShadowFraction, ir.Fraction{}); message != "" {
			r.fail("%s", message)
		}
	})
	return policy
}
