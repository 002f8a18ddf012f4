// Package auth says what external authorization means, which listeners and routes ask for alike.
// Enter at [External].
// It must not know what becomes of a request for which the server gives no decision: that is for the caller.
package auth
