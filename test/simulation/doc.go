// Package simulation runs the real store, pipeline, xds, convergence and peers of several replicas in one process, in fake time and
// without gRPC, against model Envoys. Enter at [Run], which performs the actions of a seed or of a trace; it checks after every one of
// them what must always hold, and at rest that nothing is missing. It must not know how a replica or a proxy works inside: it decides
// when each message, watch event, call and fault happens, and reads answers and conditions.
package simulation
