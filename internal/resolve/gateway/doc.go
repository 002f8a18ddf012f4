// Package gateway resolves a Gateway with its ListenerSets: which listeners are valid, which conflict, what they need and which routes they
// admit. Enter at [Resolve], [Status] and [SetStatus]; [Listeners] is the part that routes need. It must not know routes, or how a proxy is
// configured.
package gateway
