// Package argocd runs the health checks that Argo CD has built in on the statuses that Gatewright writes. It is a module of its
// own, so that the interpreter of these scripts is a dependency of nothing else.
package argocd
