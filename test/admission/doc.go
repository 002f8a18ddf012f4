// Package admission does what an API server does to objects of custom kinds, without one.
// Enter at [Read], which takes files with CustomResourceDefinitions, and ask [Rules.Admit] or [Rules.Check].
// It must not know what the kinds are for.
package admission
