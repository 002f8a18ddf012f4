package explain

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// choice is the rule for a request in a virtual host. Without a rule the host answers by itself, by the name of Envoy's route.
type choice struct {
	host *ir.VirtualHost
	rule *ir.Rule
	// name is that of Envoy's route, empty if none matches.
	name string
	// late says that Envoy finds it only when its filters run.
	late bool
	// preflight says that the route reaches nothing but the filter that answers preflights.
	preflight bool
}

// The names of Envoy's routes that are no rules.
const (
	routeMisdirected = "misdirected"
	routeUnchecked   = "unchecked"
	routeUnmatched   = "unmatched"
)

// route finds the virtual host and the rule, and goes on from there.
func (x *exchange) route() {
	first, c := x.choose()
	c.late = !first
	if c.host != nil {
		x.out.Host, x.out.Rule = c.host.Domain, c.name
	}
	if first && x.rejectsUpgrade(c) || x.answersHealthCheck(first) || x.loops() {
		return
	}
	if c.host == nil {
		x.noHost()
		return
	}
	hop := Hop{Name: hopHost, Value: x.headers.first(authorityHeader), Object: "hostname " + c.host.Domain}
	switch c.name {
	case routeMisdirected:
		if c.late && !x.passHost(c.host) {
			return
		}
		hop.Object = "listener " + c.host.Chain
		hop.Detail = fmt.Sprintf("the connection is for listener %s, and the host belongs to listener %s", x.chain.Name, c.host.Chain)
		x.fail(http.StatusMisdirectedRequest, hop, fmt.Sprintf("open a connection of its own, with the TLS server name %s", x.hostname()))
	case routeUnchecked:
		if !x.passHost(c.host) {
			return
		}
		hop.Detail = "a filter of the listener cannot be served, so that every request gets an error"
		fix := fmt.Sprintf("correct the filters of listener %s; its status says what is wrong", x.chain.Name)
		x.fail(http.StatusInternalServerError, hop, fix)
	default:
		x.hop(hop)
		x.follow(c)
	}
}

// follow goes on with the rule of a host.
func (x *exchange) follow(c choice) {
	if !c.preflight && (c.rule == nil || !c.rule.Match.Preflight) {
		x.filtersOfListener(c.host)
	}
	if c.rule == nil {
		if c.name == "" || x.passHost(c.host) {
			x.noRule(c.host)
		}
		return
	}
	x.hop(Hop{Name: hopRule, Value: x.request.Method + " " + x.path, Object: DescribeRule(c.rule.Name), Detail: describe(&c.rule.Match)})
	x.losers(c)
	x.apply(c)
}

// hostname is the host of the request as it is looked up: in lower case, without a port.
func (x *exchange) hostname() string {
	host := x.headers.first(authorityHeader)
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	return strings.ToLower(host)
}

// choose finds the virtual host, and the rule in it. first says that Envoy finds it at once, before any filter runs.
func (x *exchange) choose() (first bool, c choice) {
	if !x.chain.ByHost {
		host := x.exactHost(x.hostname())
		if host == nil {
			host = x.wildcardHost()
		}
		if host == nil {
			return false, choice{}
		}
		c := x.chooseIn(host)
		return c.name != "", c
	}
	// Envoy finds a scope by the host up to the first colon, as it is spelled.
	spelled, _, _ := strings.Cut(x.headers.first(authorityHeader), ":")
	var exact choice
	if host := x.exactHost(strings.ToLower(spelled)); host != nil && host.Domain == x.hostname() {
		exact = x.chooseIn(host)
		if exact.name != "" || !host.FallsThrough {
			return exact.name != "" && host.Domain == spelled, exact
		}
	}
	host := x.wildcardHost()
	if host == nil {
		return false, exact
	}
	wild := x.chooseIn(host)
	if wild.name == "" && exact.host != nil {
		return false, exact
	}
	// A client that asks for the host `*` names the scope of all wildcards.
	return spelled == "*" && wild.name != "", wild
}

func (x *exchange) exactHost(name string) *ir.VirtualHost {
	if isWildcard(name) {
		return nil
	}
	if host, ok := x.config.Hosts[x.chain.RouteTable.Host(name)]; ok {
		return &host
	}
	return nil
}

func (x *exchange) wildcardHost() *ir.VirtualHost {
	name := x.hostname()
	for _, host := range x.config.wildcards(x.chain.RouteTable) {
		if covers(host.Domain, name) {
			return host
		}
	}
	return nil
}

// chooseIn finds the rule in a virtual host.
func (x *exchange) chooseIn(host *ir.VirtualHost) choice {
	c := choice{host: host}
	switch {
	case x.path == "":
		return c
	case host.Chain != "" && host.Chain != x.chain.Name:
		c.name = routeMisdirected
		return c
	case unchecked(host):
		c.name = routeUnchecked
		return c
	}
	for i := range host.Rules {
		rule := &host.Rules[i]
		if asked, ok := preflightOf(host, i); ok && len(x.misses(&asked)) == 0 {
			c.rule, c.name, c.preflight = rule, rule.Name, true
			return c
		}
		if len(x.misses(&rule.Match)) == 0 {
			c.rule, c.name = rule, rule.Name
			return c
		}
	}
	if len(host.Filters) > 0 {
		c.name = routeUnmatched
	}
	return c
}

// unchecked says that requests cannot pass the filters that the listener wants.
func unchecked(host *ir.VirtualHost) bool {
	return slices.ContainsFunc(host.Filters, func(f ir.ListenerFilter) bool { return f.Backend().IsZero() })
}

// preflightOf is the match of the route that answers the preflights of a rule, where translation adds one.
func preflightOf(host *ir.VirtualHost, i int) (ir.Match, bool) {
	rule := &host.Rules[i]
	policy := host.PolicyOf(rule)
	if policy.CORS == nil || policy.CORS.Guard == ir.Off || policy.FailsClosed() || rule.Forward == nil || rule.Match.Preflight {
		return ir.Match{}, false
	}
	m := rule.Match
	if m.Method == "" || m.Method == ir.MethodOptions {
		m.Method = ""
		return m.OfPreflight(), len(host.Filters) > 0
	}
	known := slices.ContainsFunc(host.Rules, func(other ir.Rule) bool { return other.Match.Preflight && other.Name == rule.Name })
	return m.OfPreflight(), !known
}

// answersHealthCheck says whether the proxy answers at the path of health checks. A rule that only other filters find is not looked for.
func (x *exchange) answersHealthCheck(first bool) bool {
	if x.policy.HealthCheckPath == "" || x.path != x.policy.HealthCheckPath {
		return false
	}
	if !first {
		x.out.Host, x.out.Rule = "", ""
	}
	x.hop(Hop{
		Name: hopFilter, Value: x.path, Object: "health check", Origin: originsOf(x.policy.Origins),
		Detail: "the proxy answers health checks of load balancers at this path",
	})
	x.answer(http.StatusOK, "the proxy answers health checks of load balancers at this path")
	x.alternative(http.StatusServiceUnavailable, "health check", "the proxy drains", originsOf(x.policy.Origins))
	return true
}

// rejectsUpgrade says whether the client wants a protocol that the rule does not allow.
func (x *exchange) rejectsUpgrade(c choice) bool {
	if !x.isUpgrade() {
		return false
	}
	upgrade := x.headers.first("upgrade")
	allowed := []string{"websocket"}
	if c.rule != nil {
		allowed = append(allowed, c.host.PolicyOf(c.rule).Upgrades...)
	}
	if slices.ContainsFunc(allowed, func(name string) bool { return strings.EqualFold(name, upgrade) }) {
		return false
	}
	x.fail(http.StatusForbidden, Hop{
		Name: hopRequest, Value: "upgrade: " + upgrade, Detail: "the protocol that the client wants to switch to is not allowed",
	}, "allow it with httpUpgrade of a BackendTrafficPolicy")
	return true
}

// hopsHeader is how proxies count the proxies that a request has passed, and maxHops how many are too many.
const (
	hopsHeader = "x-gatewright-hops"
	maxHops    = 10
)

// loops says whether the request has passed too many proxies.
func (x *exchange) loops() bool {
	if !slices.ContainsFunc(x.headers.values(hopsHeader), func(v string) bool { return strings.Contains(v, strings.Repeat("1", maxHops)) }) {
		return false
	}
	x.fail(http.StatusLoopDetected, Hop{
		Name: hopFilter, Value: hopsHeader, Detail: fmt.Sprintf("the request has passed %d proxies of Gatewright", maxHops),
	}, "find the backend that leads back to the Gateway")
	return true
}
