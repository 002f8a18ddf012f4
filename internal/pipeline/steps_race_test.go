//go:build race

package pipeline

// steps is smaller here, since the race detector makes each step several times as slow. `make test` runs all of them without it.
const steps = 1500
