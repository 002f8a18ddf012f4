package route

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/routefilter"
	"github.com/gatewright/gatewright/internal/store"
)

// maxCombinations bounds the matches of a rule together with those of its filters.
const maxCombinations = 512

// withConditions is a rule with the conditions that its filters add: one match for each way to meet all of them. It has them even if its
// filters cannot be served, so that it keeps its place. If they are not known, or too many, as the message says, it is marked as wide.
func (in Inputs) withConditions(v *store.View, from refs.Origin, rule requestRule) (narrow requestRule, message string) {
	count := len(rule.matches)
	var lists [][]*ir.CookieMatches
	for _, f := range rule.filters {
		alternatives, known := in.conditions(v, from, f)
		if !known {
			rule.wide = true
			return rule, ""
		}
		if len(alternatives) > 0 {
			lists = append(lists, alternatives)
			count *= len(alternatives)
		}
		if count > maxCombinations {
			rule.wide = true
			return rule, fmt.Sprintf("the matches of the rule and of its filters make %d combinations, and %d are allowed; use fewer",
				count, maxCombinations)
		}
	}
	return rule.withCookies(lists), ""
}

// conditions are what a filter adds to the conditions of its rule. It is false where that is not known.
func (in Inputs) conditions(v *store.View, from refs.Origin, f gwv1.HTTPRouteFilter) ([]*ir.CookieMatches, bool) {
	switch {
	case f.Type == "":
		// Nothing of the filter can be read.
		return nil, false
	case f.Type != gwv1.HTTPRouteFilterExtensionRef || !isRouteFilter(f.ExtensionRef):
		return nil, true
	default:
		return routefilter.Cookies(in.routeFilters(v, from), string(f.ExtensionRef.Name))
	}
}

// withCookies is the rule with one match for each way to meet one condition of each list.
func (rule requestRule) withCookies(lists [][]*ir.CookieMatches) requestRule {
	for _, alternatives := range lists {
		var matches []requestMatch
		for _, m := range rule.matches {
			for _, cookies := range alternatives {
				narrow := m
				narrow.Cookies = m.Cookies.And(cookies)
				matches = append(matches, narrow)
			}
		}
		rule.matches = matches
	}
	return rule
}
