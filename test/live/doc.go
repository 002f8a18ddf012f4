// Package live is what tests have on a real cluster: a namespace, objects that serve, requests, and the pods of the control plane and
// of proxies. Enter at [New]. It must not know what is tested, nor how Gatewright works inside.
package live
