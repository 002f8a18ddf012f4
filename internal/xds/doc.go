// Package xds serves Envoy resources over delta ADS: it authenticates proxies, gives each the resources of its group, orders updates,
// and records what each proxy acknowledges or NACKs. Enter at [NewCache], fill it with [Cache.Apply] and [Cache.ApplyEndpoints], call
// [Cache.Open] after the first full sync, and serve it with [NewServer]. It must not know Kubernetes, the Gateway API or how a listener
// or filter looks.
package xds
