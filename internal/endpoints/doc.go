// Package endpoints knows which addresses serve a port of a Service or ServiceImport, or an InferencePool, read from EndpointSlices.
// Enter at [LoadAssignment] for one port and at [OfService] for the ports of a Service.
// It must not know routes, backends' protocols or anything else that would make an endpoint change cost a translation.
package endpoints
