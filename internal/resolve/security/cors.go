package security

import (
	"slices"
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// defaultMaxAge is that of the standard's filter.
const defaultMaxAge = 5 * time.Second

func (r *resolver) cors(c *v1alpha1.CORS) *ir.CORS {
	policy := &ir.CORS{}
	policy.Guard = r.guard(c.Mode, func() {
		for _, origin := range c.AllowOrigins {
			policy.Origins = append(policy.Origins, header.OriginMatch(string(origin)))
		}
		policy.Methods, policy.Headers, policy.Expose = c.AllowMethods, c.AllowHeaders, c.ExposeHeaders
		policy.Credentials = c.AllowCredentials != nil && *c.AllowCredentials
		policy.MaxAge = int32(min(r.duration("cors.maxAge", c.MaxAge, defaultMaxAge, 0), maxAge).Seconds())
		if policy.Credentials {
			// Clients would take the wildcard for a header of that name.
			policy.Expose = slices.DeleteFunc(slices.Clone(policy.Expose), func(name string) bool { return name == "*" })
		}
		if message := header.CheckNames("cors: method or header", policy.Methods, policy.Headers, policy.Expose); message != "" {
			r.fail("%s", message)
		}
	})
	return policy
}

// maxAge is more than any browser remembers.
const maxAge = 365 * 24 * time.Hour
