// Package filter knows the HTTP filters of a proxy, one file for each: its configuration in a listener and its per-route configuration.
// Enter at [Filter] and at the list `order`, which has all of them in the order in which a request passes them.
// It must not know how a listener, a route or a virtual host is built: those packages ask it for the configuration of all filters at once.
package filter
