// Package multicluster proves on two real clusters what docs/multicluster.md says: a Service in both, a control plane in each, and what
// happens when one of them is lost. Enter at two_clusters_test.go. Run with `make multicluster`, which starts and stops both clusters.
// It must not know how Gatewright works inside: it sees objects, pods and answers to requests.
package multicluster
