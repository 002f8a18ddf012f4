package filter

import (
	"fmt"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	networkinputv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/network/v3"
	ipmatcherv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/input_matchers/ip/v3"
	metadatamatcherv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/input_matchers/metadata/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// Authorization answers 403 unless every policy above a route allows a request. A composite filter runs one filter for each policy. None
// of them waits, so all of them run.
const Authorization = "gatewright.authorization"

const rbacName = "envoy.filters.http.rbac"

var authorization = runsByPolicy(Authorization, func(policy *ir.RequestPolicy) []run {
	var all []run
	for i := range policy.Authorization {
		a := &policy.Authorization[i]
		config := rbac(a)
		if a.Claims && !policy.JWT.Verifies(a.Policy) {
			// Another policy decides which tokens are verified. Rules about claims would see none, or those of a provider that this policy
			// does not know.
			config = rbac(&ir.Authorization{Policy: a.Policy})
		}
		all = append(all, run{rbacName, config})
	}
	if policy.Locates() {
		all = append(all, withoutGeoHeaders)
	}
	return all
})

// rbac decides by the first rule that matches a request.
func rbac(a *ir.Authorization) *rbacv3.RBAC {
	matcher := &xdsmatcherv3.Matcher{OnNoMatch: decision(a.Policy.String()+"/default", a.Allow)}
	list := &xdsmatcherv3.Matcher_MatcherList{}
	for i := range a.Rules {
		rule := &a.Rules[i]
		list.Matchers = append(list.Matchers, &xdsmatcherv3.Matcher_MatcherList_FieldMatcher{
			Predicate: ruleConditions(a.Policy, rule), OnMatch: decision(fmt.Sprintf("%s/%d", a.Policy, i), rule.Allow),
		})
	}
	if len(list.GetMatchers()) > 0 {
		matcher.MatcherType = &xdsmatcherv3.Matcher_MatcherList_{MatcherList: list}
	}
	return &rbacv3.RBAC{Matcher: matcher}
}

func decision(name string, allow bool) *xdsmatcherv3.Matcher_OnMatch {
	action := &rbacconfigv3.Action{Name: name, Action: rbacconfigv3.RBAC_DENY}
	if allow {
		action.Action = rbacconfigv3.RBAC_ALLOW
	}
	return wire.Action("action", action)
}

// ruleConditions are all that a rule asks for.
func ruleConditions(policy ir.Name, rule *ir.AuthorizationRule) *predicate {
	var all []*predicate
	if len(rule.CIDRs) > 0 {
		all = append(all, address(rule.CIDRs))
	}
	if len(rule.Methods) > 0 {
		all = append(all, anyText(methodInput, rule.Methods, exactText))
	}
	if rule.Path != nil {
		all = append(all, path(rule.Path, rule.Allow))
	}
	for _, h := range rule.Headers {
		match := exactText
		if !rule.Allow {
			match = elementText
		}
		all = append(all, anyText(&matcherv3.HttpRequestHeaderMatchInput{HeaderName: h.Name}, h.Values, match))
	}
	for i := range rule.Claims {
		all = append(all, claim(policy, &rule.Claims[i]))
	}
	if len(rule.Locations) > 0 {
		all = append(all, location(rule.Locations, rule.Allow))
	}
	if rule.CEL != nil {
		all = append(all, celCondition(rule.CEL, rule.Allow))
	}
	return allOf(all)
}

var methodInput = &matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":method"}

func address(cidrs []string) *predicate {
	return single(&networkinputv3.SourceIPInput{}, custom("ip", &ipmatcherv3.Ip{CidrRanges: wire.CIDRs(cidrs), StatPrefix: "authorization"}))
}

func path(p *ir.PathRule, allow bool) *predicate {
	strict := p.Strict(allow)
	matches := pathMatches(p.Expression(strict))
	// Of a path whose dot segments proxies do not see, the backend decides what it means. No such path is allowed.
	if strict {
		matches = allOf([]*predicate{matches, not(pathMatches(ir.HiddenDots))})
	} else {
		matches = anyOfThem([]*predicate{matches, pathMatches(ir.HiddenDots)})
	}
	if p.Invert {
		return not(matches)
	}
	return matches
}

func pathMatches(expression string) *predicate {
	return single(&matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":path"}, text(ir.StringMatch{Kind: ir.Regex, Value: expression}))
}

// claim compares a claim of a token that the filter before has verified.
func claim(policy ir.Name, c *ir.ClaimValues) *predicate {
	var ways []*predicate
	for _, steps := range c.Paths {
		input := &networkinputv3.DynamicMetadataInput{Filter: jwtName}
		for _, key := range append([]string{ClaimsKey(policy, c.Provider)}, steps...) {
			input.Path = append(input.Path, &networkinputv3.DynamicMetadataInput_PathSegment{
				Segment: &networkinputv3.DynamicMetadataInput_PathSegment_Key{Key: key},
			})
		}
		for _, value := range c.Values {
			ways = append(ways, single(input, custom("metadata", &metadatamatcherv3.Metadata{Value: claimValue(value, c.List)})))
		}
	}
	return anyOfThem(ways)
}

func claimValue(value string, list bool) *matcherv3.ValueMatcher {
	exact := &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{StringMatch: StringMatch(ir.StringMatch{Value: value})}}
	if !list {
		return exact
	}
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_ListMatch{ListMatch: &matcherv3.ListMatcher{
		MatchPattern: &matcherv3.ListMatcher_OneOf{OneOf: exact},
	}}}
}
