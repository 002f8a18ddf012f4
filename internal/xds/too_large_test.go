package xds

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
)

// nackRecorder records NACKs.
type nackRecorder struct {
	noObserver
	seen *[]NACK
}

func (r nackRecorder) NACKed(_ Identity, nack NACK) { *r.seen = append(*r.seen, nack) }

func TestAResourceThatIsTooLargeIsLeftOut(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var seen []NACK
	s := &stream{
		group: newGroup(GroupID{}, newEndpointTable()), observer: nackRecorder{seen: &seen}, metrics: newMetrics(prometheus.NewRegistry()),
		logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	s.subscriptions[RouteTable].update(&discoveryv3.DeltaDiscoveryRequest{}, false, func(string) bool { return true }, nil)
	r := newResponse(RouteTable)
	for name, size := range map[string]int{"big": maxResource, "small": 10} {
		s.subscriptions[RouteTable].put(r, name, &composedTable{name: name, version: "v", bytes: size})
	}
	r.remove("gone")
	s.leaveOut(RouteTable, r)
	if len(r.resources) != 1 || r.resources[0].label() != "small" || len(r.versions) != 2 || len(r.tables) != 1 || len(r.removed) != 1 {
		t.Errorf("%v are sent", r.versions)
	}
	if s.subscriptions[RouteTable].nacked["big"] != "v" || s.subscriptions[RouteTable].sent["big"] != "v" {
		t.Error("it should be as if the proxy had refused it")
	}
	if len(seen) != 1 || seen[0].Type != RouteTable || seen[0].Name != "big" || !strings.Contains(log.String(), "too large") {
		t.Errorf("refused: %v, logged: %s", seen, &log)
	}
	if !s.lacks(RouteTable) {
		t.Error("the proxy should not hold a state, since it is not known which host is the cause")
	}
}

func TestAHostThatIsTooLargeIsReported(t *testing.T) {
	t.Parallel()
	var seen []NACK
	g := newGroup(GroupID{}, newEndpointTable())
	g.apply([]Change{
		{Type: RouteTable, Name: "t", Resource: &Resource{version: "h"}},
		{Type: VirtualHost, Table: "t", Name: "a.example", Resource: &Resource{version: "v"}},
	})
	s := &stream{
		group: g, observer: nackRecorder{seen: &seen}, metrics: newMetrics(prometheus.NewRegistry()), logger: slog.New(slog.DiscardHandler),
	}
	s.subscriptions[Scope].update(&discoveryv3.DeltaDiscoveryRequest{}, true, func(string) bool { return true }, g.names(Scope))
	for range 2 {
		r := newResponse(Scope)
		s.subscriptions[Scope].put(r, "t|a.example", &namedResource{name: "t|a.example", content: &scope{
			version: "s", header: &Resource{version: "h"}, host: &Resource{version: "v"}, hostBytes: maxResource,
		}})
		s.leaveOut(Scope, r)
	}
	if len(seen) != 2 || seen[0].Type != VirtualHost || seen[0].Name != "a.example" || seen[0].Version != "v" || !seen[0].Filters {
		t.Errorf("refused: %v", seen)
	}
	// What it gets instead is too large, too: nothing is left to try.
	if len(seen) == 2 && seen[1].Type != RouteTable || !s.lacks(Scope) {
		t.Errorf("refused: %v", seen)
	}
}

func TestTheSizeOfATableIsKept(t *testing.T) {
	t.Parallel()
	g := newGroup(GroupID{}, newEndpointTable())
	set := func(name, note string) {
		change := Change{Type: VirtualHost, Table: "t", Name: name}
		if note != "" {
			change.Resource = &Resource{version: note, value: []byte(note)}
		}
		g.apply([]Change{change, {Type: RouteTable, Name: "t", Resource: &Resource{version: "h", value: []byte("header")}}})
	}
	for _, change := range [][2]string{
		{"a", "one"}, {"b", strings.Repeat("x", 500)}, {"*.c", "three"}, {"a", "longer"}, {"b", ""}, {"*.c", "3"},
	} {
		set(change[0], change[1])
		table := g.tables["t"].current
		if got := len(table.wire().GetResource().GetValue()); got != table.bytes {
			t.Errorf("the table has %d bytes, and should have %d", got, table.bytes)
		}
		for name, scope := range g.resources[Scope] {
			if got := len(scope.wire().GetResource().GetValue()); got > scope.size() || got < scope.size()-2*scopeRoom-envelope {
				t.Errorf("scope %s has %d bytes, and should have about %d", name, got, scope.size())
			}
		}
	}
}
