// Package files delivers configuration to proxies as files: the resources of a Gateway, in ConfigMaps and Secrets that its pods mount.
// Enter at [New]; a [Plane] is one of the data planes of package dataplane, and works while this replica leads.
// It must not know what a resource is for, nor how fleets are run.
package files
