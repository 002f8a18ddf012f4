//go:build fuzz

package fuzz

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// inside calls fn with the network of a process. All that fn opens stays there.
func inside(pid int, fn func() error) error {
	runtime.LockOSThread()
	own, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	other, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }()
	if err := unix.Setns(int(other.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network of process %d: %w", pid, err)
	}
	result := fn()
	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		// The thread stays locked, so that it ends with the goroutine.
		return fmt.Errorf("leave the network of process %d: %w", pid, err)
	}
	runtime.UnlockOSThread()
	return result
}

// raiseLoopback has a network reach itself.
func raiseLoopback(pid int) error {
	return inside(pid, func() error {
		socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(socket) }()
		loopback, err := unix.NewIfreq("lo")
		if err != nil {
			return err
		}
		loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
	})
}

// dialInside connects to a port of a network.
func dialInside(pid int, port int32) (conn net.Conn, err error) {
	err = inside(pid, func() (err error) {
		conn, err = net.DialTimeout("tcp4", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		return err
	})
	return conn, err
}
