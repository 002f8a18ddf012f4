package xds

import (
	"net"
	"testing"
)

// TestConnectionsCountByTheirHost: a client opens each connection from another port.
func TestConnectionsCountByTheirHost(t *testing.T) {
	t.Parallel()
	for address, expected := range map[string]string{"10.0.0.1:4000": "10.0.0.1", "[fd00::1]:4000": "fd00::1"} {
		resolved, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := sourceOf(resolved); got != expected {
			t.Errorf("%s counts as %s, not as %s", address, got, expected)
		}
	}
}
