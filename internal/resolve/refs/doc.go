// Package refs follows references from one object to another: Services, Secrets, and the ReferenceGrants that allow a reference to cross namespaces.
// Enter at [Backend] and [Certificate]; each returns what was found or a [Problem] in the words of the standard.
// It must not know listeners, routes or what a reference is used for.
package refs
