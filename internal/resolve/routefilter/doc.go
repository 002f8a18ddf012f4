// Package routefilter resolves HTTPRouteFilters: what a rule does beside the filters of the standard. Enter at [Resolve], which returns
// values of the IR or says what is wrong. It must not know the routes that use a filter, nor the rules around it.
package routefilter
