// Command architecture writes the package diagram of docs/architecture.md from the imports of the code, and checks that no package imports
// one of a higher layer and that every function named in the walks exists. Enter at main; the layers are defined in layers.go, once.
package main

//go:generate go run . ../..
