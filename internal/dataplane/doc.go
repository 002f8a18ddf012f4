// Package dataplane is the seam between what proxies are to have and how they come to have it.
// Enter at [Plane], which is all that a data plane has to offer, and [Planes], which is what the pipeline speaks to; docs/data-planes.md says how another is added.
// It must not know any of them.
package dataplane
