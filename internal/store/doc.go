// Package store keeps records in memory, in tables with named indexes, and knows what changed and what was read.
// Enter at [New] and [NewTable]; pure code reads through a [View], which records hits, misses and index buckets. [Kinds] describes the
// kinds that are watched, and [NewObjects] makes a table for each.
// It must not know what a record means, who computes it, or how it was fetched.
package store
