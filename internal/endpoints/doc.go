// Package endpoints knows which addresses serve a port of a Service, read from its EndpointSlices.
// Enter at [LoadAssignment] for one port and at [Keys] for the ports a Service has.
// It must not know routes, backends' protocols or anything else that would make an endpoint change cost a translation.
package endpoints
