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

func TestSystemFleetName(t *testing.T) {
	t.Parallel()
	name := func(namespace, gateway string) string {
		return ir.SystemFleetName(ir.Name{Namespace: namespace, Name: gateway}, "c")
	}
	t.Run("what fits has the name that it always had", func(t *testing.T) {
		t.Parallel()
		if got := name("shop", "edge"); got != "edge-c-c58fbafd" {
			t.Errorf("got %q", got)
		}
		if got := name("shop", strings.Repeat("a", 52)); len(got) != 63 || !strings.HasPrefix(got, strings.Repeat("a", 52)+"-c-") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("what is cut off can not be chosen so that two names are equal", func(t *testing.T) {
		t.Parallel()
		// Both have the FNV-32a hash 261550a6.
		stem := strings.Repeat("a", 60)
		a, b := name("shop", stem+"34049"), name("evil", stem+"820024")
		if a == b || len(a) > 63 || len(b) > 63 {
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
