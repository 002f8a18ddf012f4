// Package memo keeps computed tables up to date: it recomputes only what read something that changed, and stops where the result is equal.
// Enter at [New], describe each table with [Derive] in the order of the stages, then call [Graph.Run] after every batch of changes.
// It must not know what is computed, or why; it knows keys, functions and recorded reads.
package memo
