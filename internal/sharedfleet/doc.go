// Package sharedfleet copies the resources of Gateways that share proxies into the group of these proxies. Enter at [Fanout.Begin].
// It must not know how resources are computed, or which Gateways share proxies and why.
package sharedfleet
