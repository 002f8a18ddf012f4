// Package gateway says what a GatewayClass and a Gateway with its ListenerSets mean: which listeners are valid, which conflict, what they need
// and what they let in. Enter at [Class], [Resolve], [Status] and [SetStatus]; [Listeners] is the part that routes need to know.
// It must not know routes, or how a proxy is configured.
package gateway
