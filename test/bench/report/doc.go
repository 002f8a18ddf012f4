// Command report writes docs/performance.md and its plots from the figures that `make bench` left in docs/performance, a file for each
// implementation. Enter at main.go, run with `make bench-report`. What is written by hand stands outside the markers in the page, and
// stays. It must not measure anything.
package main
