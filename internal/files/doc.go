// Package files brings configuration to proxies as files: the resources of a Gateway, laid into ConfigMaps and Secrets that are mounted into its
// pods, where Envoy watches them. Enter at [New]; a [Plane] is one of the data planes of package dataplane, and works while it leads.
// It must not know what a resource is for, nor how fleets are run.
package files
