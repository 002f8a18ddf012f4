// Command lwepp is the endpoint picker of the Gateway API Inference Extension that its conformance suite runs.
// Enter at main.go, which starts it as its own command does; ordered.go puts its answers in the order that Envoy asks for.
// It must not change what the picker chooses.
package main
