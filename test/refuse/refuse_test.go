package refuse_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/gatewright/gatewright/test/refuse"
)

func TestConnectionsAreRefused(t *testing.T) {
	t.Parallel()
	address := refuse.At(t, "127.0.0.1")
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection to %s: %v", address, err)
	}
	if _, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address); err == nil {
		t.Error("another server gets the port")
	}
}
