// Package app puts the control plane together: flags, clients, leader election, and which part feeds which.
// Enter at [Command]; assemble.go connects the parts in the order in which data passes through them.
// It must not know what the parts do.
package app
