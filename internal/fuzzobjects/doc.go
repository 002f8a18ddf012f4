// Package fuzzobjects generates random objects of every watched kind, for property and fuzz tests.
// Enter at [New] and take changes with [Generator.Change], or a whole set with [HostileGenerator.Set] or [Generator.Guarded], of which
// [Generator.Damage] damages one object. The same seed gives the same objects, except for keys. It must not know what becomes of them.
package fuzzobjects
