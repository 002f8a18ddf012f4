// Command cluster builds and runs a single-node Kubernetes with real Envoy images in a network
// namespace of its own, from nothing but Go modules, one Python wheel and Debian packages.
// Enter at up.go and down.go, which list the steps in order; each step has a file with its name.
// It must not know what Gatewright does: it only builds the image, installs the chart and stops there.
package main
