// Package app puts the control plane together: flags, clients, leader election, and which part feeds which.
// Enter at [Command]; run.go wires the parts in the order data goes through them.
// It must not know what the parts do.
package app
