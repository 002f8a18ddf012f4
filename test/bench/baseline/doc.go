// Package baseline is the least that Envoy needs: a control plane that pushes what it is given and does nothing else, resources written
// by hand, and configurations without any control plane. What takes longer than with these is not Envoy's doing. Enter at [Start] and
// [Static]. It must not know Kubernetes, nor how Gatewright works.
package baseline
