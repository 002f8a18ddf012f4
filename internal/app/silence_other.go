//go:build !linux

package app

import "syscall"

// limitSilence is for Linux, where controllers run.
func limitSilence(string, string, syscall.RawConn) error { return nil }
