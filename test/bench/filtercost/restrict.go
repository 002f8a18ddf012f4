package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// restrict has the kernel ask a filter about every system call of this thread.
func restrict(filter *unix.SockFprog) error {
	//nolint:gosec // it is how the kernel takes it
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(filter)), 0, 0)
}
