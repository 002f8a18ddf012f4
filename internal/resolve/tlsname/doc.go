// Package tlsname has the names that BoringSSL knows for cipher suites, curves and signature algorithms. Enter at [Unknown]. It must not
// know where TLS is used.
package tlsname
