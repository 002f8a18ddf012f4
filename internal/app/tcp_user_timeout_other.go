//go:build !linux

package app

import "syscall"

// setUserTimeout is for Linux, where controllers run.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
