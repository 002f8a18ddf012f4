package ir_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestFleetName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 253)
	for _, c := range []struct {
		name, gateway, class, want string
	}{
		{"the usual is `<gateway>-<class>`", "edge", "gatewright", "edge-gatewright"},
		{"dots are not allowed in a Service's name", "edge.example", "gatewright", "edge-example-gatewright-6209113b"},
		{"a digit can not come first", "1st", "gatewright", "gw-1st-gatewright-6a368c0e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := ir.FleetName(c.gateway, c.class); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("a long name is shortened and stays unique", func(t *testing.T) {
		t.Parallel()
		a, b := ir.FleetName(long, "gatewright"), ir.FleetName(long[:252], "gatewright")
		if len(a) > 63 || len(b) > 63 || a == b {
			t.Errorf("got %q and %q", a, b)
		}
	})
}

func TestParseBackendIsTheInverseOfName(t *testing.T) {
	t.Parallel()
	for _, b := range []ir.Backend{
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP1},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP2},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendWSS},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendTCP},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendUDP},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendPassthrough},
		{Object: ir.Name{Namespace: "a", Name: "b"}, XBackend: true, Port: 80, Protocol: ir.BackendHTTP1},
		{Object: ir.Name{Namespace: "a", Name: "b"}, XBackend: true, Port: 80, Protocol: ir.BackendPassthrough},
	} {
		if got, ok := ir.ParseBackend(b.Name()); !ok || got != b {
			t.Errorf("ParseBackend(%q) = %+v, %v", b.Name(), got, ok)
		}
	}
	for _, name := range []string{"", "a/b", "a/b/c", "a/b/80/http2/x"} {
		if _, ok := ir.ParseBackend(name); ok {
			t.Errorf("%q was taken for a backend", name)
		}
	}
}
