package traffic

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/values"
)

var units = map[string]time.Duration{"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour, "Day": 24 * time.Hour}

func (c *converter) rateLimit(l *v1alpha1.LocalRateLimit) *ir.LocalRateLimit {
	p, broken := &ir.LocalRateLimit{}, false
	for i := range l.Rules {
		rule := &l.Rules[i]
		r, ok := c.rateRule(fmt.Sprintf("rateLimit.local.rules[%d].", i), rule)
		if ok {
			p.Rules = append(p.Rules, r)
		}
		// The rule without clientSelectors has no shadow mode.
		shadow := values.IsTrue(rule.ShadowMode) && len(rule.ClientSelectors) > 0
		broken = broken || !ok && !shadow
	}
	switch {
	case len(l.Rules) == 0:
		c.Fail("rateLimit.local: requests are answered with an error, because there is no rule; add one, or remove rateLimit.local")
		return &ir.LocalRateLimit{Guard: ir.Broken}
	case broken:
		c.Fail("rateLimit.local: requests are answered with an error, because a rule cannot be served")
		return &ir.LocalRateLimit{Guard: ir.Broken}
	case len(p.Rules) == 0:
		return nil
	}
	return p
}

// rateRule is false for a rule that cannot be served.
func (c *converter) rateRule(field string, rule *v1alpha1.RateLimitRule) (ir.RateRule, bool) {
	r := ir.RateRule{
		Requests: values.Or(limit(&rule.Limit.Requests)), Unit: units[rule.Limit.Unit], Shadow: values.IsTrue(rule.ShadowMode),
		Headers: values.Is(rule.XRateLimitHeaders, "DraftVersion03"),
	}
	if r.Unit == 0 || r.Requests == 0 {
		c.Fail("%slimit: %d requests for each %q is not a limit; use Second, Minute, Hour or Day", field, rule.Limit.Requests, rule.Limit.Unit)
		return r, false
	}
	if rule.Cost != nil {
		r.Cost = cost(rule.Cost.Request)
	}
	complete := true
	for i, s := range rule.ClientSelectors {
		matches, ok := c.selector(fmt.Sprintf("%sclientSelectors[%d].", field, i), s)
		complete = complete && ok
		r.Matches = append(r.Matches, matches...)
	}
	return r, complete
}

// cost is how much a request counts, nil for the default.
func cost(v *v1alpha1.RateLimitCostValue) *ir.RateCost {
	switch {
	case v == nil:
		return nil
	case v.Metadata != nil:
		return &ir.RateCost{Format: fmt.Sprintf("%%DYNAMIC_METADATA(%s:%s)%%", v.Metadata.Namespace, v.Metadata.Key)}
	default:
		return &ir.RateCost{Number: uint64(max(0, values.Or(v.Number)))}
	}
}

// pseudoHeaders are what Envoy has of each request beside its headers.
var pseudoHeaders = []string{":authority", ":method", ":path", ":scheme"}

// selector is false where a part cannot be served: a rule that selects more than was meant would limit others.
func (c *converter) selector(field string, s v1alpha1.RateLimitSelector) ([]ir.RateMatch, bool) {
	before := len(c.Problems)
	var all []ir.RateMatch
	for _, h := range s.Headers {
		if slices.Contains(pseudoHeaders, h.Name) || c.Accept(header.CheckName(field+"headers", h.Name)) {
			all = append(all, c.match(field+"headers", h, ir.RateMatch{Header: strings.ToLower(h.Name)}))
		}
	}
	for _, q := range s.QueryParams {
		if c.queryName(field+"queryParams", q.Name) {
			all = append(all, c.match(field+"queryParams", q, ir.RateMatch{Query: q.Name}))
		}
	}
	all = append(all, methods(s.Methods)...)
	if s.Path != nil {
		all = append(all, c.path(field+"path", s.Path)...)
	}
	if src := s.SourceCIDR; src != nil {
		if cidr, ok := c.CIDR(field+"sourceCIDR", string(src.Value)); ok {
			all = append(all, ir.RateMatch{CIDR: cidr, Distinct: values.Is(src.Type, distinct), Invert: values.IsTrue(src.Invert)})
		}
	}
	if len(all) == 0 && len(c.Problems) == before {
		c.Fail("%s selects nothing; set headers, methods, path, sourceCIDR or queryParams", strings.TrimSuffix(field, "."))
	}
	return all, len(c.Problems) == before
}

// path is none for a path that cannot be served.
func (c *converter) path(field string, p *v1alpha1.RateLimitPath) []ir.RateMatch {
	text, ok := pathExpression(p)
	switch {
	case !ok:
		c.Fail("%s: type %q is not known; use Exact, PathPrefix or RegularExpression", field, *p.Type)
	case values.Is(p.Type, gwv1.PathMatchRegularExpression):
		_, ok = c.Match(field, v1alpha1.StringMatch{Type: new(v1alpha1.StringMatchRegularExpression), Value: p.Value})
	case strings.ContainsAny(p.Value, "?#"):
		c.Fail("%s %q is not a path; leave out the query", field, p.Value)
		return nil
	}
	if !ok || !c.Accept(header.CheckValue(field, p.Value)) {
		return nil
	}
	return []ir.RateMatch{{Header: ":path", Match: ir.StringMatch{Kind: ir.Regex, Value: text}, Invert: values.IsTrue(p.Invert)}}
}

// queryName is false for a name of query parameters that cannot be served. Envoy takes 1 to 1024 bytes.
func (c *converter) queryName(field, name string) bool {
	const longest = 1024
	if name == "" || len(name) > longest {
		c.Fail("%s has a name of %d bytes; use one of 1 to %d", field, len(name), longest)
		return false
	}
	return c.Accept(header.CheckValue(field, name))
}

const distinct = "Distinct"

func (c *converter) match(field string, m v1alpha1.RateLimitMatch, to ir.RateMatch) ir.RateMatch {
	to.Invert = values.IsTrue(m.Invert)
	switch values.Or(m.Type) {
	case distinct:
		to.Distinct, to.Invert = true, false
	case "RegularExpression":
		to.Match, _ = c.Match(field, v1alpha1.StringMatch{Type: new(v1alpha1.StringMatchRegularExpression), Value: values.Or(m.Value)})
	case "", "Exact":
		c.Accept(header.CheckValue(field, values.Or(m.Value)))
		to.Match = ir.StringMatch{Value: values.Or(m.Value)}
	default:
		c.Fail("%s: type %q is not known; use Exact, RegularExpression or Distinct", field, *m.Type)
	}
	return to
}

// methods are one condition for those that must match, and one for those that must not.
func methods(list []v1alpha1.RateLimitMethod) []ir.RateMatch {
	var wanted, unwanted []string
	for _, m := range list {
		if values.IsTrue(m.Invert) {
			unwanted = append(unwanted, regexp.QuoteMeta(string(m.Value)))
		} else {
			wanted = append(wanted, regexp.QuoteMeta(string(m.Value)))
		}
	}
	var all []ir.RateMatch
	for i, names := range [][]string{wanted, unwanted} {
		if len(names) > 0 {
			all = append(all, ir.RateMatch{
				Header: ":method", Match: ir.StringMatch{Kind: ir.Regex, Value: strings.Join(names, "|")}, Invert: i == 1,
			})
		}
	}
	return all
}

// pathExpression matches the path of a request with its query. It is false for a type that is not known.
func pathExpression(p *v1alpha1.RateLimitPath) (string, bool) {
	const query = `(?:\?.*)?`
	switch values.Or(p.Type) {
	case gwv1.PathMatchExact:
		return quotedPaths(p, "") + query, true
	case gwv1.PathMatchRegularExpression:
		return "(?:" + p.Value + ")" + query, true
	case "", gwv1.PathMatchPathPrefix:
		return quotedPaths(p, "/") + `(?:/[^?]*)?` + query, true
	default:
		return "", false
	}
}

// quotedPaths matches the paths that listeners may make of a path, without a suffix. To invert all of them would count too little, so that
// only the path with the slashes that are written there is left.
func quotedPaths(p *v1alpha1.RateLimitPath, suffix string) string {
	paths := ir.PathSpellings(p.Value)
	if values.IsTrue(p.Invert) {
		path, _ := ir.CanonicalPath(p.Value)
		return regexp.QuoteMeta(strings.TrimSuffix(path, suffix))
	}
	for i := range paths {
		paths[i] = ir.AnyCaseOfSlashes(regexp.QuoteMeta(strings.TrimSuffix(paths[i], suffix)))
	}
	if len(paths) == 1 {
		return paths[0]
	}
	return "(?:" + strings.Join(paths, "|") + ")"
}
