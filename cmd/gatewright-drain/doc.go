// Command gatewright-drain runs in the pods of proxies, from the kubelet's preStop hook: it asks Envoy to drain, and returns when it has.
// Enter at main; everything it does is in internal/drain.
// It must not import anything but that and the standard library, for every proxy's pod gets a copy of it.
package main
