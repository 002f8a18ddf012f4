// Package version knows what was built: the version and revision of a program, and the Go that compiled it.
// Enter at [Current]; what a release is called, the linker writes with -X github.com/gatewright/gatewright/internal/version.version=v0.1.0,
// and its commit with .commit, because a release is built without its repository.
// It must not import anything but the standard library, for the drain program in every proxy's pod has it too.
package version
