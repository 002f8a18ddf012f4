// Package clock measures time without what the host kept for itself.
//
// A virtual machine that shares its host does not always run. Linux counts the time in which it wanted to and could not ("steal" in
// proc_stat(5)). A test that says how long a proxy took must not count it: on a host that is busy, all cores stop for a second and more.
package clock
