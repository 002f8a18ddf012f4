// Package ir says what a proxy fleet should do, in plain values with ordered slices and no Kubernetes or Envoy types.
// Enter at [Gateway] for one fleet's ports and at [VirtualHost] for the rules of one hostname; every other type hangs below those two.
// It must not know where a value came from or how a proxy is told about it.
package ir
