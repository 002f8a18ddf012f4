package refuse

import (
	"net"
	"net/netip"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// At returns an IPv4 address with a port at which nothing listens. The port is taken until the test ends, so that no other server gets it.
func At(t *testing.T, address string) string {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: netip.MustParseAddr(address).As4()}); err != nil {
		t.Fatalf("take a port of %s: %v", address, err)
	}
	name, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	bound, ok := name.(*unix.SockaddrInet4)
	if !ok {
		t.Fatalf("bound to %v", name)
	}
	return net.JoinHostPort(address, strconv.Itoa(bound.Port))
}
