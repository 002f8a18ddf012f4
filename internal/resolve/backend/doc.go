// Package backend resolves what proxies connect to: references to Services, ServiceImports, Backends, XBackends and InferencePools, the
// protocol they speak, and these objects themselves. Enter at [Resolve] or [OfRule] for a reference, and at [ResolveFixed], [XBackend] and
// [InferencePool] for an object. It must not know routes or listeners.
package backend
