// Package drain lets a proxy that is to end finish what it has begun: it runs beside Envoy, from the kubelet's hook, before Envoy is told to stop.
// Enter at [Command] and [Run], which asks a [Proxy], through [Admin] the one behind an administration socket, to send its connections away, and waits for them.
// It must not know Kubernetes, and must listen on nothing.
package drain
