// Command gatewright is the control plane: it watches Gateway API objects and configures the proxies that serve them.
// Enter at main; everything it does is in internal/app.
// It must not know anything but flags and signals.
package main
