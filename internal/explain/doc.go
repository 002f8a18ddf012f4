// Package explain computes what proxies answer a request, and why, from the values of ir alone: port, TLS server name, virtual host, rule,
// filters and backends, in the order in which Envoy decides. Enter at [Explain].
// It must not know the objects of Kubernetes, nor how configuration reaches proxies.
package explain
