// Package charts tests the chart gatewright-crds with the real Helm, kubectl, etcd and kube-apiserver, which must be on the PATH: what
// becomes of the definitions of a cluster. Enter at crds_test.go; server_test.go starts the API server.
// It must not need a test cluster, root, or what no chart installs.
package charts
