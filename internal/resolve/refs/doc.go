// Package refs resolves references from one object to another: Secrets, CA certificates, and the ReferenceGrants that allow a reference to
// cross namespaces. Enter at [Certificate], [AuthoritiesOf] and [Permitted]; a [Problem] has a reason of the standard.
// It must not know listeners, routes or the purpose of a reference.
package refs
