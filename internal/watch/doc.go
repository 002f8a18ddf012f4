// Package watch turns what informers see into changes for the store. Which part of an object matters is in its kind's [store.Descriptor].
// Enter at [New] and [Watcher.Start], with a cache made with [CacheOptions]; [store.Kinds] is what is watched.
// It must not know what an object means, or what is computed from it.
package watch
