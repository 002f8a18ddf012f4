// Command parity writes docs/policies/parity.md: for each field that users know from Envoy Gateway, the field of Gatewright's own kind,
// what covers it instead, or why it is not supported. Fields are found in the Go types, so the document cannot name one that does not
// exist. Enter at document; testdata has the fields, and notes.txt what cannot be found by name.
package main

//go:generate go run . ../..
