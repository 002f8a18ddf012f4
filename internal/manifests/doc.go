// Package manifests reads objects from YAML or JSON, as users keep them in files. Enter at [Read].
// It must not know what becomes of the objects.
package manifests
