//go:build !race

package pipeline

// steps is how many random changes the properties are checked over. Each is followed by a comparison.
const steps = 5000
