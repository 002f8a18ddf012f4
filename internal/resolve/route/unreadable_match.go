package route

import (
	"regexp"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// harmless are the filters without which a request may be served by another rule.
var harmless = []gwv1.HTTPRouteFilterType{
	gwv1.HTTPRouteFilterRequestHeaderModifier, gwv1.HTTPRouteFilterResponseHeaderModifier, gwv1.HTTPRouteFilterRequestRedirect,
	gwv1.HTTPRouteFilterURLRewrite, gwv1.HTTPRouteFilterRequestMirror, gwv1.HTTPRouteFilterCORS,
}

// guards says whether a filter may refuse requests: an authorization, or one that is not known here.
func guards(filters []gwv1.HTTPRouteFilter) bool {
	return slices.ContainsFunc(filters, func(f gwv1.HTTPRouteFilter) bool { return !slices.Contains(harmless, f.Type) })
}

// meant is a match for all that a match which can not be read may mean: its path, whatever the headers and parameters, or the paths that
// begin as its expression does. It is false where that would be everything.
func meant(m ir.Match) (ir.Match, bool) {
	wide := ir.Match{Path: m.Path, GRPC: m.GRPC}
	if m.Path.Kind != ir.Regex {
		return wide, m.Path.Value != "/"
	}
	literal := literalBeginning(m.Path.Value)
	wide.Path.Value = regexp.QuoteMeta(literal) + ".*"
	return wide, len(literal) > 1
}

// literalBeginning is what every text begins with that an expression could match, as far as that is plain to see.
func literalBeginning(expression string) string {
	if strings.Contains(expression, "|") {
		return ""
	}
	end := strings.IndexFunc(expression, func(c rune) bool { return strings.ContainsRune(`\.+*?()[]{}^$`, c) || c > '~' || c <= ' ' })
	if end < 0 {
		return expression
	}
	if end > 0 && strings.ContainsRune("*?{", rune(expression[end])) {
		// The character before may be missing.
		end--
	}
	return expression[:end]
}
