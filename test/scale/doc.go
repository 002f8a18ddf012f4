// Command scale finds out what the control plane costs when there is a lot of everything: it drives the real pipeline, cache and xDS
// server in one process, without a cluster, and measures memory, the time of a cold start and of single changes, and how long a change
// takes to a thousand proxies. `make scale` runs it at full size and writes the figures of docs/scale.md; enter at main.go. It must not
// know how any of that is computed.
package main
