package app

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout closes a connection on which data is not acknowledged, which keep-alive alone does not: it is not sent while data is
// under way.
func setUserTimeout(_, _ string, connection syscall.RawConn) error {
	var problem error
	err := connection.Control(func(fd uintptr) {
		problem = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
	})
	if err == nil {
		err = problem
	}
	if err != nil {
		return fmt.Errorf("set TCP_USER_TIMEOUT: %w", err)
	}
	return nil
}
