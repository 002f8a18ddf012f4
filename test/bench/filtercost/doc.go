// Command filtercost finds out what each part of a proxy's configuration costs a request: it runs an Envoy as Gatewright configures it,
// one for each part that is taken away, and one with the configuration written by hand that `make bench` compares with, and counts the
// instructions that the thread of each takes for a request. Unlike time, these are the same on a machine that is busy. No cluster is
// needed. `make bench-filtercost` runs it; enter at main.go. It must not know how the configuration is made.
package main
