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
		{"a digit cannot come first", "1st", "gatewright", "gw-1st-gatewright-6a368c0e"},
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
	t.Run("what is cut off cannot be chosen so that two names are equal", func(t *testing.T) {
		t.Parallel()
		// Both have the FNV-32a hash 261550a6.
		stem := strings.Repeat("a", 60)
		a, b := name("shop", stem+"34049"), name("evil", stem+"820024")
		if a == b || len(a) > 63 || len(b) > 63 {
			t.Errorf("got %q and %q", a, b)
		}
	})
}

func TestParseBackendIsTheInverseOfString(t *testing.T) {
	t.Parallel()
	for _, b := range []ir.Backend{
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP1},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP2},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendWSS},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendTCP},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendUDP},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendPassthrough},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Kind: ir.KindXBackend, Port: 80, Protocol: ir.BackendHTTP1},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Kind: ir.KindXBackend, Port: 80, Protocol: ir.BackendPassthrough},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP1, Variant: "3f2a"},
		{Object: ir.Name{Namespace: "a", Name: "b"}, Kind: ir.KindXBackend, Port: 80, Protocol: ir.BackendHTTP2, Variant: "3f2a"},
	} {
		if got, ok := ir.ParseBackend(b.String()); !ok || got != b {
			t.Errorf("ParseBackend(%q) = %+v, %v", b.String(), got, ok)
		}
	}
	for _, name := range []string{"", "a/b", "a/b/c", "a/b/80/http2/x", "a/b/80/", "/b/80", "a//80"} {
		if _, ok := ir.ParseBackend(name); ok {
			t.Errorf("%q was taken for a backend", name)
		}
	}
}
