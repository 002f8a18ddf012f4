package limits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Limits are the budgets. What is beyond one is refused on the object that is, the youngest first.
type Limits struct {
	// Expression is how many instructions a regular expression may compile to, and Expressions how many those of one route may together.
	// Proxies keep every program in memory, and a large one is slow.
	Expression  int
	Expressions int
	// HostRules and HostExpressions are how many rules, and instructions, the routes of one hostname of a listener may have together.
	HostRules       int
	HostExpressions int
	// Routes is how many routes of one namespace a Gateway takes. Rules, NamespaceExpressions and Backends are how many rules, instructions
	// and different backends these may have together; rules and instructions count for each hostname.
	Routes               int
	Rules                int
	NamespaceExpressions int
	Backends             int
	// GatewayHostnames and GatewayBackends are how many different hostnames and backends the routes of all namespaces may have together at the
	// proxies of a Gateway, which namespaces share. They bound what a proxy lists when it connects again.
	GatewayHostnames int
	GatewayBackends  int
	// Endpoints is how many endpoints a backend may have, and NamespaceEndpoints how many all ports of the Services of one namespace may.
	Endpoints          int
	NamespaceEndpoints int
	// RepeatedRules is how often the rules of routes with wide hostnames may be repeated for narrower ones on a listener, all together.
	RepeatedRules int
	// Listeners is how many listeners a Gateway may have together with its ListenerSets, and NamespaceListeners how many those of one
	// namespace may add to it.
	Listeners          int
	NamespaceListeners int
	// ExternalHostnames is how many XBackends of one namespace may have a name that proxies resolve by DNS.
	ExternalHostnames int
	// RateLimits is how many rules of global rate limits, and conditions of these, the policies of one namespace may have.
	RateLimits int
	// RouteBytes is how many bytes one route may take of what the proxies of a Gateway are sent, NamespaceBytes how many those of one
	// namespace may of all Gateways together, and GatewayBytes how many all routes may of one, which namespaces share. HostBytes is the
	// same for the routes of one hostname of a listener, and WildcardBytes for the routes of all hostnames with a wildcard on one port.
	RouteBytes     int
	HostBytes      int
	NamespaceBytes int
	GatewayBytes   int
	WildcardBytes  int
	// ListenerBytes is how many bytes the listeners of a Gateway whose connections are chosen by name may take together, which namespaces
	// share. All those of a port are one resource.
	ListenerBytes int
}

const mebibyte = 1 << 20

// Defaults are generous: a tenant that meets one has most likely made a mistake.
func Defaults() Limits {
	return Limits{
		Expression: 5_000, Expressions: 50_000, HostRules: 20_000, HostExpressions: 500_000, Routes: 100_000, Rules: 500_000,
		NamespaceExpressions: 5_000_000, Backends: 10_000, GatewayHostnames: 30_000, GatewayBackends: 30_000, Endpoints: 10_000,
		NamespaceEndpoints: 200_000, RepeatedRules: 100_000, Listeners: 2_048, NamespaceListeners: 512, ExternalHostnames: 256, RateLimits: 1_000,
		RouteBytes: 16 * mebibyte, HostBytes: 128 * mebibyte, NamespaceBytes: 128 * mebibyte, GatewayBytes: 512 * mebibyte,
		WildcardBytes: 128 * mebibyte, ListenerBytes: 64 * mebibyte,
	}
}

// The names of limits, as operators write them and as messages have them.
const (
	NameExpression           = "expression"
	NameExpressions          = "expressions"
	NameHostRules            = "hostRules"
	NameHostExpressions      = "hostExpressions"
	NameRoutes               = "routes"
	NameRules                = "rules"
	NameNamespaceExpressions = "namespaceExpressions"
	NameBackends             = "backends"
	NameGatewayHostnames     = "gatewayHostnames"
	NameGatewayBackends      = "gatewayBackends"
	NameEndpoints            = "endpoints"
	NameNamespaceEndpoints   = "namespaceEndpoints"
	NameRepeatedRules        = "repeatedRules"
	NameListeners            = "listeners"
	NameNamespaceListeners   = "namespaceListeners"
	NameExternalHostnames    = "externalHostnames"
	NameRateLimits           = "rateLimits"
	NameRouteBytes           = "routeBytes"
	NameHostBytes            = "hostBytes"
	NameNamespaceBytes       = "namespaceBytes"
	NameGatewayBytes         = "gatewayBytes"
	NameWildcardBytes        = "wildcardBytes"
	NameListenerBytes        = "listenerBytes"
)

// names are all limits by name.
func (l *Limits) names() map[string]*int {
	return map[string]*int{
		NameExpression:           &l.Expression,
		NameExpressions:          &l.Expressions,
		NameHostRules:            &l.HostRules,
		NameHostExpressions:      &l.HostExpressions,
		NameRoutes:               &l.Routes,
		NameRules:                &l.Rules,
		NameNamespaceExpressions: &l.NamespaceExpressions,
		NameBackends:             &l.Backends,
		NameGatewayHostnames:     &l.GatewayHostnames,
		NameGatewayBackends:      &l.GatewayBackends,
		NameEndpoints:            &l.Endpoints,
		NameNamespaceEndpoints:   &l.NamespaceEndpoints,
		NameRepeatedRules:        &l.RepeatedRules,
		NameListeners:            &l.Listeners,
		NameNamespaceListeners:   &l.NamespaceListeners,
		NameExternalHostnames:    &l.ExternalHostnames,
		NameRateLimits:           &l.RateLimits,
		NameRouteBytes:           &l.RouteBytes,
		NameHostBytes:            &l.HostBytes,
		NameNamespaceBytes:       &l.NamespaceBytes,
		NameGatewayBytes:         &l.GatewayBytes,
		NameWildcardBytes:        &l.WildcardBytes,
		NameListenerBytes:        &l.ListenerBytes,
	}
}

// Set changes those that are named.
func (l *Limits) Set(values map[string]int) error {
	known := l.names()
	for name, value := range values {
		limit, ok := known[name]
		if !ok {
			return fmt.Errorf("there is no limit %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if value < 1 {
			return fmt.Errorf("limit %s is %d; it has to be at least 1", name, value)
		}
		*limit = value
	}
	return nil
}
