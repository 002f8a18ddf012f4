// Package watch turns what informers see into changes for the store, and knows for each kind which part of an object matters.
// Enter at [Start], with a cache made with [CacheOptions]; [store.Kinds] is what is watched.
// It must not know what an object means, or what is computed from it.
package watch
