// Package upstream has tests for what the standard demands and its own suite does not look at yet. They are in the suite's own form, each
// with its manifests beside it, so that they can be contributed as they are; [Tests] lists them.
package upstream
