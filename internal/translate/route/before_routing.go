package route

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
)

// beforeRouting adds what a virtual host needs whose requests pass filters before their route counts. Envoy looks for a route at once,
// finds with it the virtual host and so the filters, and looks again when they have changed something. So there is a route for every
// request, if only to be answered 404. Without a server to ask, nothing passes.
func beforeRouting(host *ir.VirtualHost, routes []*routev3.Route) []*routev3.Route {
	if len(host.Filters) == 0 {
		return routes
	}
	if filter.Unchecked(host) {
		unchecked := &routev3.Route{Name: "unchecked", Match: plainPrefix("/")}
		fail(unchecked, internalServerError)
		return []*routev3.Route{unchecked}
	}
	unmatched := &routev3.Route{Name: "unmatched", Match: plainPrefix("/")}
	fail(unmatched, notFound)
	return append(routes, unmatched)
}
