package route

import (
	"regexp"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
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
		c.Origins = append(c.Origins, originMatch(string(origin)))
	}
	for _, method := range f.AllowMethods {
		c.Methods = append(c.Methods, string(method))
	}
	for _, header := range f.AllowHeaders {
		c.Headers = append(c.Headers, string(header))
	}
	for _, header := range f.ExposeHeaders {
		c.Expose = append(c.Expose, string(header))
	}
	if c.Credentials {
		// The standard forbids the wildcard beside credentials; clients would take it for a header of that name.
		c.Expose = slices.DeleteFunc(c.Expose, func(name string) bool { return name == anything })
	}
	return c
}

// originMatch compares an origin of the form `<scheme>://<host>[:<port>]`. In the host, `*` stands for any number of labels. The port of
// the scheme may be left out on either side.
func originMatch(origin string) ir.StringMatch {
	if origin == anything {
		return ir.StringMatch{Kind: ir.Regex, Value: ".*"}
	}
	scheme, rest, _ := strings.Cut(strings.ToLower(origin), "://")
	host, port, _ := strings.Cut(rest, ":")
	usual := map[string]string{"http": "80", "https": "443"}[scheme]
	if port == "" || port == usual {
		port = "(?::" + usual + ")?"
	} else {
		port = ":" + regexp.QuoteMeta(port)
	}
	expression := regexp.QuoteMeta(host)
	if after, wildcard := strings.CutPrefix(host, anything); wildcard {
		expression = "[^:/]+" + regexp.QuoteMeta(after)
	}
	return ir.StringMatch{Kind: ir.Regex, Value: "(?i)" + regexp.QuoteMeta(scheme) + "://" + expression + port}
}
