package quarantine

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestReplacesFilters(t *testing.T) {
	t.Parallel()
	backend := func(namespace, name string) ir.Backend {
		return ir.Backend{Object: ir.Name{Namespace: namespace, Name: name}, Port: 80}
	}
	auth := func(namespace, name string) ir.ListenerFilter {
		return ir.ListenerFilter{Auth: &ir.ExternalAuth{Backend: backend(namespace, name)}}
	}
	processor := ir.ListenerFilter{ExtProc: &ir.ExtProc{Backend: backend("infra", "good")}}
	list := func(filters ...ir.ListenerFilter) []ir.ListenerFilter { return filters }
	own := ir.ListenerID{Gateway: "infra/web", Listener: "http"}
	set := ir.ListenerID{Gateway: "infra/web", Listener: "tenant/set/http"}
	bad := auth("infra", "bad")
	for _, c := range []struct {
		name           string
		listener       ir.ListenerID
		good, rejected []ir.ListenerFilter
		want           bool
	}{
		{"another server", own, list(auth("infra", "good")), list(bad), true},
		{"the same", own, list(bad), list(bad), false},
		{"the first filter", own, nil, list(bad), false},
		{"one filter more", own, list(auth("infra", "good")), list(auth("infra", "good"), bad), false},
		{"one filter less", own, list(auth("infra", "good"), auth("infra", "good")), list(bad), false},
		{"another type", own, list(processor), list(bad), false},
		{"a server of another namespace, which a grant allowed", own, list(auth("other", "good")), list(bad), false},
		{
			"a server of another namespace, which is asked still",
			own, list(auth("other", "s"), auth("infra", "good")), list(auth("other", "s"), bad), true,
		},
		{"of a ListenerSet, a server of its namespace", set, list(auth("tenant", "good")), list(auth("tenant", "bad")), true},
		{"of a ListenerSet, a server of the Gateway's namespace", set, list(auth("infra", "good")), list(auth("tenant", "bad")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := replacesFilters(c.listener, c.good, c.rejected); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
