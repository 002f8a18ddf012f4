package route

import (
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// VirtualHost is the rules of one hostname, in their order. Its name is the domain, which is unique in a table, and the name of each
// route is that of its rule, so that what Envoy says about a route can be traced to the object it came from. A rule that Envoy would refuse
// answers an error, for all that its path may mean if its match is the reason, and has a validation error.
func VirtualHost(host ir.VirtualHost) (*routev3.VirtualHost, []wire.ValidationError) {
	routes, invalid := routesOf(&host, withPreflights(&host))
	vh := &routev3.VirtualHost{Name: host.Domain, Domains: []string{host.Domain}, TypedPerFilterConfig: filter.VirtualHost(&host)}
	if slices.ContainsFunc(routes, func(r *routev3.Route) bool { return r.GetRoute() != nil }) {
		vh.RetryPolicy = saferRetries
	}
	routes = beforeRouting(&host, routes)
	filter.Need(vh, routes)
	if !strings.HasPrefix(host.Domain, "*") && !host.FallsThrough {
		filter.Found(vh)
	}
	if !host.Flat {
		vh.Matcher = tree(routes)
	}
	if all := guards(&host); len(all) > 0 {
		vh.Matcher = guard(&host, all, routes, vh.GetMatcher())
	} else if vh.GetMatcher() == nil {
		vh.Routes = routes
	}
	return vh, invalid
}

// routesOf are the routes that some rules of a host become.
func routesOf(host *ir.VirtualHost, rules []ir.Rule) ([]*routev3.Route, []wire.ValidationError) {
	routes := make([]*routev3.Route, 0, len(rules))
	var invalid []wire.ValidationError
	for i := range rules {
		for _, p := range parts(&rules[i]) {
			for _, v := range withoutPort(host, p.Rule, variants(p.Match.Path, pathEdit(p.Rule))) {
				v.match.RuntimeFraction = p.fraction
				r, err := wire.Build(func() *routev3.Route { return route(host, p.Rule, v) })
				if err != nil {
					invalid = noteOnce(invalid, wire.ValidationError{Owner: p.Name, Reason: err.Error()})
					if r, err = wire.Build(func() *routev3.Route { return answer(p.Rule, v.match) }); err != nil {
						// So does all that begins as its path: no wider rule takes what this one may guard.
						r = answer(p.Rule, pathMatch(p.Match.Path.Widened()))
					}
				}
				routes = append(routes, r)
			}
		}
	}
	return routes, invalid
}

// noteOnce adds a validation error that is not there yet: the routes of one rule have the same.
func noteOnce(invalid []wire.ValidationError, f wire.ValidationError) []wire.ValidationError {
	if slices.Contains(invalid, f) {
		return invalid
	}
	return append(invalid, f)
}

// HasTree says whether the rules of a host are sent as a tree. A rule may become several routes, so it takes them all.
func HasTree(host ir.VirtualHost) bool {
	if host.Flat {
		return false
	}
	routes, _ := routesOf(&host, withPreflights(&host))
	return tree(beforeRouting(&host, routes)) != nil
}

// answer is a rule of which only the match is good.
func answer(rule *ir.Rule, match *routev3.RouteMatch) *routev3.Route {
	r := &routev3.Route{Name: rule.Name, Match: match}
	fail(r, unserved(rule))
	return r
}

func route(host *ir.VirtualHost, rule *ir.Rule, v variant) *routev3.Route {
	r := &routev3.Route{Name: rule.Name, Match: match(v.match, &rule.Match), TypedPerFilterConfig: filter.Route(host, rule)}
	r.ResponseHeadersToAdd, r.ResponseHeadersToRemove = headers(rule.ResponseHeaders)
	telemetry(r, rule, host.PolicyOf(rule))
	if auth := host.PolicyOf(rule).Auth; auth != nil && auth.RouteMetadata {
		r.Metadata = routeMetadata(rule.Name)
	}
	switch {
	case host.PolicyOf(rule).FailsClosed():
		fail(r, unserved(rule))
	case rule.Redirect != nil:
		r.Action = &routev3.Route_Redirect{Redirect: redirect(host.Domain, rule.Redirect, v)}
	case rule.Forward != nil:
		forward(r, rule, host.PolicyOf(rule), v.replacement)
	case rule.Respond != nil:
		respond(r, rule.Respond)
	case rule.Fail != nil:
		fail(r, rule.Fail.StatusCode)
	default:
		fail(r, unserved(rule))
	}
	return r
}

const (
	notFound            = 404
	internalServerError = 500
	serviceUnavailable  = 503
)

// unserved is what a rule answers that has nowhere to send a request. The standard: 500 for HTTP, UNAVAILABLE for gRPC, which is what Envoy
// makes of 503 there.
func unserved(rule *ir.Rule) int {
	if rule.Match.GRPC {
		return serviceUnavailable
	}
	return internalServerError
}

// fail answers with a status. A status Envoy would not take is answered as 500, so that one rule cannot spoil its table.
func fail(r *routev3.Route, status int) {
	answer := uint32(internalServerError)
	if status >= 200 && status < 600 {
		answer = uint32(status)
	}
	r.Action = &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: answer}}
}

func pathEdit(rule *ir.Rule) *ir.PathEdit {
	switch {
	case rule.Redirect != nil:
		return rule.Redirect.Path
	case rule.Forward != nil && rule.Forward.Rewrite != nil:
		return rule.Forward.Rewrite.Path
	default:
		return nil
	}
}
