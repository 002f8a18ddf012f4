// Package auth says what external authorization means, which listeners and routes ask for alike.
// Enter at [External].
// It must not know what becomes of a request that can not be judged: that is for whoever asks.
package auth
