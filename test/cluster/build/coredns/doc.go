// Command coredns is CoreDNS with only the plugins that the test cluster's DNS needs.
// Enter at main.go, whose imports are the plugins; the Corefile is written by the cluster command.
// It must not hold code of its own.
package main
