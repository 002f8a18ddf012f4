// Package xds serves each proxy the Envoy resources of its own Gateway over delta ADS: who a proxy is, what it holds, in which order it learns of a change, what it answered.
// Enter at [NewCache], fill it with [Cache.Apply] and [Cache.ApplyEndpoints], call [Cache.Open] after the first full sync, and serve it with [NewServer].
// It must not know Kubernetes, the Gateway API or why a resource looks the way it does.
package xds
