package route

import (
	"strconv"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
)

// cors configures the filter for one route. Envoy answers a wildcard with what the request asks for, and an allowed origin with itself,
// with and without credentials.
func cors(r *routev3.Route, c *ir.CORS) {
	if c == nil {
		return
	}
	policy := &corsv3.CorsPolicy{
		AllowMethods:     strings.Join(c.Methods, ", "),
		AllowHeaders:     strings.Join(c.Headers, ", "),
		ExposeHeaders:    strings.Join(c.Expose, ", "),
		MaxAge:           strconv.Itoa(int(c.MaxAge)),
		AllowCredentials: wrapperspb.Bool(c.Credentials),
		// The standard: a preflight request from another origin is answered without the headers of CORS, not forwarded.
		ForwardNotMatchingPreflights: wrapperspb.Bool(false),
	}
	for _, origin := range c.Origins {
		policy.AllowOriginStringMatch = append(policy.AllowOriginStringMatch, stringMatch(origin))
	}
	configure(r, filter.CORS, policy)
}
