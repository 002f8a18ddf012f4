package pipeline

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// TestWhatTheLastCheckKeepsBack: proxies go on with what they have, and it is counted and written down.
func TestWhatTheLastCheckKeepsBack(t *testing.T) {
	t.Parallel()
	table := store.NewTable[translation](store.New(), "tables")
	table.CollectChanges()
	describe := func(key string) xds.Change {
		return xds.Change{Group: ownGroup("infra/gw"), Type: xds.RouteTable, Name: key}
	}
	set := func(domain string) {
		table.Set("t", checked(func() *routev3.VirtualHost { return &routev3.VirtualHost{Name: "h", Domains: []string{domain}} }))
	}

	set("a.example")
	if changes, invalid := takeResources(table, describe); len(changes) != 1 || changes[0].Resource == nil || len(invalid) > 0 {
		t.Fatalf("a good one gives %v with %v", changes, invalid)
	}
	set("a\nb")
	changes, invalid := takeResources(table, describe)
	if len(changes) > 0 || len(invalid) != 1 {
		t.Fatalf("a bad one gives %v with %v", changes, invalid)
	}

	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	p := New(discardAll(), registry, WithLog(slog.New(slog.NewTextHandler(&log, nil))))
	p.logValidationErrors(invalid)
	for _, word := range []string{"gateway=infra/gw", "type=route_table", "resource=t", "Domains"} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("the log does not say %s: %s", word, log.String())
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "gatewright_pipeline_validation_errors_total" && f.GetMetric()[0].GetCounter().GetValue() == 1 {
			return
		}
	}
	t.Error("it was not counted")
}
