package filter

import (
	"regexp"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// predicate is a condition on a request, of Envoy's matchers.
type predicate = xdsmatcherv3.Matcher_MatcherList_Predicate

// comparison is how a predicate compares its input.
type comparison func(*xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate)

func single(input proto.Message, compare comparison) *predicate {
	p := &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate{Input: wire.Extension("input", input)}
	compare(p)
	return &predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{SinglePredicate: p}}
}

func custom(name string, matcher proto.Message) comparison {
	return func(p *xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate) {
		p.Matcher = &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_CustomMatch{CustomMatch: wire.Extension(name, matcher)}
	}
}

// text compares a text as a whole.
func text(m ir.StringMatch) comparison {
	match := &xdsmatcherv3.StringMatcher{MatchPattern: &xdsmatcherv3.StringMatcher_Exact{Exact: m.Value}}
	switch m.Kind {
	case ir.Regex:
		match.MatchPattern = &xdsmatcherv3.StringMatcher_SafeRegex{SafeRegex: &xdsmatcherv3.RegexMatcher{
			EngineType: &xdsmatcherv3.RegexMatcher_GoogleRe2{GoogleRe2: &xdsmatcherv3.RegexMatcher_GoogleRE2{}}, Regex: m.Value,
		}}
	case ir.Prefix:
		match.MatchPattern = &xdsmatcherv3.StringMatcher_Prefix{Prefix: m.Value}
	case ir.Suffix:
		match.MatchPattern = &xdsmatcherv3.StringMatcher_Suffix{Suffix: m.Value}
	case ir.Exact:
	}
	return func(p *xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate) {
		p.Matcher = &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_ValueMatch{ValueMatch: match}
	}
}

// anyCase compares a text as a whole, with letters in either case.
func anyCase(value string) comparison {
	return func(p *xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate) {
		p.Matcher = &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_ValueMatch{ValueMatch: &xdsmatcherv3.StringMatcher{
			MatchPattern: &xdsmatcherv3.StringMatcher_Exact{Exact: value}, IgnoreCase: true,
		}}
	}
}

func exactText(value string) ir.StringMatch { return ir.StringMatch{Value: value} }

// elementText matches a value among others: of a header that is there several times, Envoy compares all values in one, with commas.
func elementText(value string) ir.StringMatch {
	return ir.StringMatch{Kind: ir.Regex, Value: `(?:.*,)?\s*` + regexp.QuoteMeta(value) + `\s*(?:,.*)?`}
}

// anyText compares an input with several values, one of which has to match.
func anyText(input proto.Message, values []string, match func(string) ir.StringMatch) *predicate {
	ways := make([]*predicate, 0, len(values))
	for _, value := range values {
		ways = append(ways, single(input, text(match(value))))
	}
	return anyOfThem(ways)
}

func anyOfThem(ways []*predicate) *predicate {
	if len(ways) == 1 {
		return ways[0]
	}
	return &predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_OrMatcher{
		OrMatcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_PredicateList{Predicate: ways},
	}}
}

func allOf(all []*predicate) *predicate {
	if len(all) == 1 {
		return all[0]
	}
	return &predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_AndMatcher{
		AndMatcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_PredicateList{Predicate: all},
	}}
}

func not(p *predicate) *predicate {
	return &predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_NotMatcher{NotMatcher: p}}
}
