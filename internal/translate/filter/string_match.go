package filter

import (
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// StringMatch compares a value. A regular expression is compared with the whole of it, wherever Envoy uses it here.
func StringMatch(m ir.StringMatch) *matcherv3.StringMatcher {
	switch m.Kind {
	case ir.Regex:
		regex := &matcherv3.RegexMatcher{Regex: m.Value}
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex}}
	case ir.Prefix:
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: m.Value}}
	case ir.Suffix:
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: m.Value}}
	default:
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: m.Value}}
	}
}
