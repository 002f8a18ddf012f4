// Package dataplane separates what proxies should have from how Envoy's resources are delivered to them.
// Enter at [Plane], the interface of a data plane, and [Planes], which the pipeline uses. docs/data-planes.md says how to add another.
// It must not know any of them.
package dataplane
