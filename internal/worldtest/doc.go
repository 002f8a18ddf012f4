// Package worldtest makes random objects of every watched kind, for tests that want to see many worlds.
// Enter at [New] and take one change after the other with [World.Change]; the same seed makes the same world.
// It must not know what becomes of the objects.
package worldtest
