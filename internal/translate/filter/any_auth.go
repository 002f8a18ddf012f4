package filter

import (
	"regexp"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// AnyAuth runs one of several filters that ask for credentials, by those that a request brings along. There is one decision for all of
// them, so that no request passes without one of them.
const AnyAuth = "gatewright.any_auth"

var anyAuth = Filter{
	Name: AnyAuth, OnDemand: true,
	Listener: everywhere(composite),
	Route: func(host *ir.VirtualHost, rule *ir.Rule) (proto.Message, bool) {
		policy := host.PolicyOf(rule)
		if rule.Fail != nil || policy.FailsClosed() || !policy.AnyAuthentication() {
			return nil, false
		}
		return oneOf(policy)
	},
}

// authMethod is one kind of authentication: what asks for credentials, and how a request is recognized that has them.
type authMethod struct {
	run
	has *predicate
}

// oneOf is false where nothing asks for credentials. A request without any is for the first method that has a log-in, or the last.
func oneOf(policy *ir.RequestPolicy) (proto.Message, bool) {
	methods := authMethods(policy)
	if len(methods) == 0 {
		return nil, false
	}
	clean := run{HideEnvoy, cleanHeaders(policy)}
	list := &xdsmatcherv3.Matcher_MatcherList{}
	last := methods[len(methods)-1].run
	for _, w := range methods {
		if w.has == nil {
			last = w.run
			continue
		}
		list.Matchers = append(list.Matchers, &xdsmatcherv3.Matcher_MatcherList_FieldMatcher{
			Predicate: w.has, OnMatch: executes([]run{clean, w.run}),
		})
	}
	matcher := &xdsmatcherv3.Matcher{OnNoMatch: executes([]run{clean, last})}
	if len(list.GetMatchers()) > 0 {
		matcher.MatcherType = &xdsmatcherv3.Matcher_MatcherList_{MatcherList: list}
	}
	return &compositev3.CompositePerRoute{Matcher: matcher}, true
}

func authMethods(policy *ir.RequestPolicy) []authMethod {
	var methods []authMethod
	add := func(asked []run, has *predicate) {
		for _, r := range asked {
			methods = append(methods, authMethod{r, has})
		}
	}
	if a := policy.APIKeyAuth; a != nil {
		var places []*predicate
		for _, s := range a.Sources {
			places = append(places, hasCredential(s.Header, "", s.Query, s.Cookie))
		}
		add(apiKeyRun(policy), anyOfThem(places))
	}
	if policy.BasicAuth != nil {
		add(basicAuthRun(policy), hasCredential("authorization", "Basic ", "", ""))
	}
	if policy.JWT != nil {
		add(jwtRun(policy), hasToken(policy.JWT))
	}
	if policy.OIDC != nil {
		add(oidcRun(policy), nil)
	}
	return methods
}

// hasToken recognizes a request with a token at a place where one is looked for.
func hasToken(j *ir.JWT) *predicate {
	var places []*predicate
	for i := range j.Providers {
		p := &j.Providers[i]
		if len(p.Headers)+len(p.Cookies)+len(p.Params) == 0 {
			// Envoy's own places.
			places = append(places, hasCredential("authorization", "Bearer ", "", ""), hasCredential("", "", "access_token", ""))
		}
		for _, h := range p.Headers {
			places = append(places, hasCredential(h.Name, h.Prefix, "", ""))
		}
		for _, name := range p.Cookies {
			places = append(places, hasCredential("", "", "", name))
		}
		for _, name := range p.Params {
			places = append(places, hasCredential("", "", name, ""))
		}
	}
	return anyOfThem(places)
}

// hasCredential recognizes a request with a header, a query parameter or a cookie.
func hasCredential(header, prefix, query, cookie string) *predicate {
	anything := func(before string) comparison { return text(ir.StringMatch{Kind: ir.Regex, Value: before + ".*"}) }
	switch {
	case header != "":
		return single(&matcherv3.HttpRequestHeaderMatchInput{HeaderName: header}, anything(regexp.QuoteMeta(prefix)))
	case query != "":
		return single(&matcherv3.HttpRequestQueryParamMatchInput{QueryParam: query}, anything(""))
	default:
		return single(&matcherv3.HttpRequestHeaderMatchInput{HeaderName: "cookie"}, anything(`(?:.*;)?\s*`+regexp.QuoteMeta(cookie)+`=`))
	}
}

// cleanHeaders removes what only a filter may tell backends about a client: the filters that do not run do not replace it.
func cleanHeaders(policy *ir.RequestPolicy) proto.Message {
	var names []string
	sources := map[string]bool{}
	if a := policy.APIKeyAuth; a != nil {
		names = append(names, a.ClientHeader)
		for _, s := range a.Sources {
			sources[s.Header] = true
		}
	}
	if a := policy.BasicAuth; a != nil {
		names = append(names, a.UserHeader)
	}
	if a := policy.OIDC; a != nil {
		names = append(names, a.IDHeader)
	}
	if a := policy.JWT; a != nil {
		for i := range a.Providers {
			for _, c := range a.Providers[i].Claims {
				names = append(names, c.Header)
			}
			for _, h := range a.Providers[i].Headers {
				sources[h.Name] = true
			}
		}
	}
	sources[""], sources["authorization"] = true, true
	config := &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{}}
	for _, name := range names {
		if !sources[name] {
			sources[name] = true
			config.Mutations.RequestMutations = append(config.Mutations.RequestMutations,
				&mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}})
		}
	}
	return config
}
