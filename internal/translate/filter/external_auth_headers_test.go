package filter

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestHeadersOfServersAreNotTheClients(t *testing.T) {
	t.Parallel()
	writes := func(names ...string) ir.ExternalAuth { return ir.ExternalAuth{ResponseHeaders: names} }
	reads := func(names ...string) ir.ExternalAuth { return ir.ExternalAuth{RequestHeaders: names} }
	for _, c := range []struct {
		name    string
		servers []ir.ExternalAuth
		want    []string
	}{
		{"what a server writes", []ir.ExternalAuth{writes("x-user")}, []string{"x-user"}},
		{"what a server reads and writes", []ir.ExternalAuth{{RequestHeaders: []string{"x-user"}, ResponseHeaders: []string{"x-user"}}}, nil},
		{"what one writes and a later one reads", []ir.ExternalAuth{writes("x-user"), reads("x-user")}, []string{"x-user"}},
		{"what one reads and a later one writes", []ir.ExternalAuth{reads("x-user"), writes("x-user")}, nil},
		{"users behind a proxy that is trusted", []ir.ExternalAuth{writes("x-forwarded-user")}, []string{"x-forwarded-user"}},
		{"what proxies say about the connection", []ir.ExternalAuth{writes("x-forwarded-for", "forwarded", "x-envoy-a", "authorization")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := written(c.servers); !slices.Equal(got, c.want) {
				t.Errorf("removed %v, want %v", got, c.want)
			}
		})
	}
}
