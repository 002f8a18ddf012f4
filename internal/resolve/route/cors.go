package route

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

const (
	anything = "*"
	// defaultMaxAge is the standard's, in seconds.
	defaultMaxAge = 5
)

// cors reads a CORS filter.
func cors(f *gwv1.HTTPCORSFilter) *ir.CORS {
	c := &ir.CORS{
		Credentials: f.AllowCredentials != nil && *f.AllowCredentials,
		MaxAge:      f.MaxAge,
	}
	if c.MaxAge == 0 {
		c.MaxAge = defaultMaxAge
	}
	for _, origin := range f.AllowOrigins {
		c.Origins = append(c.Origins, header.OriginMatch(string(origin)))
	}
	for _, method := range f.AllowMethods {
		c.Methods = append(c.Methods, string(method))
	}
	for _, name := range f.AllowHeaders {
		c.Headers = append(c.Headers, string(name))
	}
	for _, name := range f.ExposeHeaders {
		c.Expose = append(c.Expose, string(name))
	}
	if c.Credentials {
		// The standard forbids the wildcard beside credentials; clients would take it for a header of that name.
		c.Expose = slices.DeleteFunc(c.Expose, func(name string) bool { return name == anything })
	}
	return c
}
