// Package translation sends requests to a live Envoy that has a translated virtual host, and checks the answers and what backends see.
// Enter at startProxy; `make translation` runs the tests. It must not know how a virtual host is resolved from objects.
package translation
