// Package scripts tests the scripts of hack/ that decide whether a change is good: what they print, when they fail and what
// they leave behind. Enter at checkout_test.go, which makes a directory with the scripts under test and programs that stand for others.
// It must not need a network, a cluster or a tool that a script would build.
package scripts
