// Package filter knows which HTTP filters a request passes, and in which order.
// Enter at [Chain]; a new filter is one more line in the slice `order`.
// It must not know listeners or routes: what a filter does for one route is configured on that route.
package filter
