// Package leaderqueue is a work queue that only the leader works on. Keys may be added at any time and on every replica.
// Enter at [New] and [Queue.Run]; [RetryUntilSuccess] is for what has to succeed once.
// It must not know what the work is.
package leaderqueue
