// Package resolvetest reads objects for tests of the resolvers from YAML.
// Enter at [Load].
// It must not be used outside tests.
package resolvetest
