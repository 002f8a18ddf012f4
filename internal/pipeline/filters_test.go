package pipeline

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/translate/filter"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
)

// TestFiltersOfListenersAndRoutes: in every golden case, and in random sets of objects, listeners have the filters of the list in its
// order, and virtual hosts, routes and backends configure no filter that their listener lacks.
func TestFiltersOfListenersAndRoutes(t *testing.T) {
	t.Parallel()
	configured := map[string]bool{}
	cases, err := filepath.Glob("testdata/*/in.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		in, err := os.ReadFile(path) //nolint:gosec // the test's own files
		if err != nil {
			t.Fatal(err)
		}
		g := newGraph()
		g.objects.EnabledExtensions = store.ExtensionTypes{ExtProc: true, Lua: true}
		g.objects.GlobalRateLimits = true
		for _, c := range append(keys(), resolvetest.Load(t, base+string(in))...) {
			g.objects.Apply(c)
		}
		g.memo.Run()
		checkFilters(t, path, g, configured)
	}
	for _, name := range []string{
		filter.BeforeRouting(0), filter.CORS, filter.ExternalAuth, filter.Session, filter.Extension(0), filter.GlobalRateLimit,
	} {
		if !configured[name] {
			t.Errorf("no golden case configures %s", name)
		}
	}
	w, g := fuzzobjects.New(11, 12), newGraph()
	for step := range steps / 10 {
		g.objects.Apply(w.Change())
		if step%10 == 0 {
			g.memo.Run()
			checkFilters(t, "random objects", g, configured)
		}
	}
	if !configured[filter.GRPCWeb] {
		t.Errorf("nothing configures %s", filter.GRPCWeb)
	}
}

func checkFilters(t *testing.T, where string, g *graph, configured map[string]bool) {
	t.Helper()
	byTable := map[ir.TableID]map[string][]string{}
	for _, key := range g.ports.Keys(nil) {
		port, _ := g.ports.Get(nil, key)
		for i, filters := range managerFilters(t, port) {
			chain := port.Chains[i]
			if byTable[chain.RouteTable] == nil {
				byTable[chain.RouteTable] = map[string][]string{}
			}
			byTable[chain.RouteTable][chain.Name] = filters
			want := slices.DeleteFunc(filter.Names(chain.Filters), func(name string) bool { return !slices.Contains(filters, name) })
			if !slices.Equal(filters, want) {
				t.Errorf("%s: chain %s of %s has the filters %v, the list has the order %v", where, chain.Name, key, filters, want)
			}
		}
	}
	for name := range routetranslate.Table(ir.TableID{Gateway: "t"}, true).GetTypedPerFilterConfig() {
		if !slices.Contains(filter.Names(0), name) {
			t.Errorf("route tables configure %s, which is not in the list", name)
		}
	}
	for _, key := range g.hosts.Keys(nil) {
		host, _ := g.hosts.Get(nil, key)
		vh, _ := routetranslate.VirtualHost(host)
		names := map[string]bool{}
		collectConfigured(t, vh.ProtoReflect(), names)
		maps.Copy(configured, names)
		for chain, filters := range byTable[host.Table] {
			for name := range names {
				if (host.Chain == "" || host.Chain == chain) && !slices.Contains(filters, name) {
					t.Errorf("%s: host %s configures %s, which chain %s lacks", where, key, name, chain)
				}
			}
		}
	}
}

// managerFilters are the HTTP filters of each chain of a port that has a route table, by the place of the chain.
func managerFilters(t *testing.T, port ir.Port) map[int][]string {
	t.Helper()
	filters := map[int][]string{}
	for _, chain := range listenertranslate.Listener(ir.Name{}, port, nil).GetFilterChains() {
		// A chain may be there twice, once for trusted peers.
		i := slices.IndexFunc(port.Chains, func(c ir.Chain) bool { return strings.TrimSuffix(chain.GetName(), "|trusted") == c.Name })
		if port.Chains[i].RouteTable.IsZero() || port.Chains[i].Client().FailClosed || len(filters[i]) > 0 {
			continue
		}
		var manager hcmv3.HttpConnectionManager
		if err := chain.GetFilters()[len(chain.GetFilters())-1].GetTypedConfig().UnmarshalTo(&manager); err != nil {
			t.Fatal(err)
		}
		for _, f := range manager.GetHttpFilters() {
			filters[i] = append(filters[i], f.GetName())
		}
	}
	return filters
}

// collectConfigured finds the filters that any part of a message has per-route configuration for, whatever it is packed in.
func collectConfigured(t *testing.T, message protoreflect.Message, names map[string]bool) {
	t.Helper()
	if packed, ok := message.Interface().(*anypb.Any); ok && packed.GetTypeUrl() != "" {
		inside, err := packed.UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		message = inside.ProtoReflect()
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			value.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
				if field.Name() == "typed_per_filter_config" {
					names[key.String()] = true
				}
				if field.MapValue().Message() != nil {
					collectConfigured(t, value.Message(), names)
				}
				return true
			})
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				collectConfigured(t, value.List().Get(i).Message(), names)
			}
		default:
			collectConfigured(t, value.Message(), names)
		}
		return true
	})
}
