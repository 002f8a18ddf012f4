package filter

import (
	"strconv"
	"strings"

	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// CORS answers preflight requests, and does nothing for a route without a policy.
const CORS = "envoy.filters.http.cors"

var cors = byPolicy(Filter{Name: CORS, OnDemand: true, Listener: everywhere(&corsv3.Cors{})},
	func(p *ir.RequestPolicy) (proto.Message, bool) {
		if p.CORS == nil || p.CORS.Guard == ir.Off || p.FailsClosed() {
			return nil, false
		}
		return corsPolicy(p.CORS), true
	})

// corsPolicy: Envoy answers a wildcard with what the request asks for, and an allowed origin with itself, with and without credentials.
func corsPolicy(c *ir.CORS) *corsv3.CorsPolicy {
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
		policy.AllowOriginStringMatch = append(policy.AllowOriginStringMatch, StringMatch(origin))
	}
	return policy
}
