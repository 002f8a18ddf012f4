// Package drain lets a proxy that is to end finish what it has begun: it runs beside Envoy, from the kubelet's hook, before Envoy is told
// to stop. Enter at [Command] and [Run]. Run asks a [Proxy] to send its connections away, and waits for them; [Admin] is the one behind an
// administration socket.
// It must not know Kubernetes, and must listen on nothing.
package drain
