package header

import (
	"regexp"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// anything is the wildcard for origins.
const anything = "*"

// OriginMatch compares an Origin header with an origin of the form `<scheme>://<host>[:<port>]`. In the host, `*` stands for any number of
// labels. The port of the scheme may be left out on either side.
func OriginMatch(origin string) ir.StringMatch {
	if origin == anything {
		return ir.StringMatch{Kind: ir.Regex, Value: ".*"}
	}
	scheme, host := originParts(origin)
	return ir.StringMatch{Kind: ir.Regex, Value: "(?i)" + regexp.QuoteMeta(scheme) + "://" + host}
}

// OriginHostMatch compares the host and the port of an Origin header with those of an origin.
func OriginHostMatch(origin string) ir.StringMatch {
	if origin == anything {
		return ir.StringMatch{Kind: ir.Regex, Value: ".*"}
	}
	_, host := originParts(origin)
	return ir.StringMatch{Kind: ir.Regex, Value: "(?i)" + host}
}

// originParts are the scheme of an origin, and an expression for its host and port.
func originParts(origin string) (scheme, expression string) {
	scheme, rest, _ := strings.Cut(strings.ToLower(origin), "://")
	host, port, _ := strings.Cut(rest, ":")
	usual := map[string]string{"http": "80", "https": "443"}[scheme]
	if port == "" || port == usual {
		port = "(?::" + usual + ")?"
	} else {
		port = ":" + regexp.QuoteMeta(port)
	}
	expression = regexp.QuoteMeta(host)
	if after, wildcard := strings.CutPrefix(host, anything); wildcard {
		expression = "[^:/]+" + regexp.QuoteMeta(after)
	}
	return scheme, expression + port
}
