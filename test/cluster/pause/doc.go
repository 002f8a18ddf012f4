// Command pause holds a pod's namespaces while its containers come and go.
// Enter at main.go: it waits to be told to stop and reaps the processes left to it.
// It must not know anything about the pod.
package main
