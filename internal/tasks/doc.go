// Package tasks has the replica that leads do what may be asked for at any time and on every replica: one task for each key, by a few workers, and again after a failure.
// Enter at [New] and [Tasks.Run]; [Insist] is for what has to succeed once.
// It must not know what is done.
package tasks
