package xds

import (
	"fmt"
	"slices"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func mustResource(t testing.TB, message proto.Message) *Resource {
	t.Helper()
	r, err := NewResource(message)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func virtualHost(t testing.TB, domain, note string) *Resource {
	return mustResource(t, &routev3.VirtualHost{Name: domain + note, Domains: []string{domain}, Routes: []*routev3.Route{{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: "shop/cart/80"}}},
	}}})
}

func header(t testing.TB, name string) *Resource {
	return mustResource(t, &routev3.RouteConfiguration{Name: name, MaxDirectResponseBodySizeBytes: wrapperspb.UInt32(1)})
}

func decoded(t *testing.T, table *routeTable) *routev3.RouteConfiguration {
	t.Helper()
	out := &routev3.RouteConfiguration{}
	if err := table.current.wire().GetResource().UnmarshalTo(out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestATableIsItsHeaderAndItsHostsInOrder(t *testing.T) {
	t.Parallel()
	table := &routeTable{name: "t"}
	for _, domain := range []string{"c", "a", "d", "b"} {
		table.setHost(domain, virtualHost(t, domain, ""))
	}
	table.publish()
	if table.current != nil {
		t.Error("a table without a header exists")
	}
	table.setHeader(header(t, "t"))
	table.setHost("d", nil)
	table.publish()
	got := decoded(t, table)
	var domains []string
	for _, h := range got.GetVirtualHosts() {
		domains = append(domains, h.GetName())
	}
	if got.GetName() != "t" || got.GetMaxDirectResponseBodySizeBytes().GetValue() != 1 || !slices.Equal(domains, []string{"a", "b", "c"}) {
		t.Errorf("got %v", got)
	}
}

func TestTheVersionOfATableDependsOnItsContentAlone(t *testing.T) {
	t.Parallel()
	const hosts = 50
	build := func(seed uint64) *routeTable {
		random := func(n uint64) uint64 {
			seed = seed*6364136223846793005 + 1442695040888963407
			return (seed >> 33) % n
		}
		table := &routeTable{name: "t"}
		table.setHeader(header(t, "other"))
		for range 200 {
			domain := fmt.Sprint(random(2 * hosts))
			switch random(3) {
			case 0:
				table.setHost(domain, nil)
			default:
				table.setHost(domain, virtualHost(t, domain, fmt.Sprint(random(3))))
			}
		}
		for offset, i := random(2*hosts), uint64(0); i < 2*hosts; i++ {
			domain := fmt.Sprint((i + offset) % (2 * hosts))
			if (i+offset)%(2*hosts) < hosts {
				table.setHost(domain, virtualHost(t, domain, ""))
			} else {
				table.setHost(domain, nil)
			}
		}
		table.setHeader(header(t, "t"))
		table.publish()
		return table
	}
	first := build(1)
	for seed := range uint64(5) {
		table := build(seed + 2)
		if table.current.version != first.current.version {
			t.Fatalf("seed %d: version %s, want %s", seed, table.current.version, first.current.version)
		}
		if !proto.Equal(table.current.wire(), first.current.wire()) {
			t.Fatalf("seed %d: other bytes", seed)
		}
	}
	seen := map[string]string{first.current.version: "the table"}
	for what, change := range map[string]func(*routeTable) bool{
		"another header":  func(r *routeTable) bool { return r.setHeader(header(t, "x")) },
		"one host less":   func(r *routeTable) bool { return r.setHost("1", nil) },
		"one host more":   func(r *routeTable) bool { return r.setHost("new", virtualHost(t, "new", "")) },
		"another content": func(r *routeTable) bool { return r.setHost("1", virtualHost(t, "1", "x")) },
		"hosts swapped": func(r *routeTable) bool {
			return r.setHost("1", virtualHost(t, "2", "")) && r.setHost("2", virtualHost(t, "1", ""))
		},
	} {
		table := build(1)
		if !change(table) {
			t.Errorf("%s is no change", what)
		}
		table.publish()
		if other, ok := seen[table.current.version]; ok {
			t.Errorf("%s has the version of %s", what, other)
		}
		seen[table.current.version] = what
	}
}

func TestASnapshotOfATableDoesNotChange(t *testing.T) {
	t.Parallel()
	table := &routeTable{name: "t"}
	table.setHeader(header(t, "t"))
	table.setHost("a", virtualHost(t, "a", ""))
	table.publish()
	snapshot := table.current
	table.setHost("a", nil)
	table.setHost("b", virtualHost(t, "b", ""))
	table.publish()
	got := &routev3.RouteConfiguration{}
	if err := snapshot.wire().GetResource().UnmarshalTo(got); err != nil {
		t.Fatal(err)
	}
	if len(got.GetVirtualHosts()) != 1 || got.GetVirtualHosts()[0].GetName() != "a" {
		t.Errorf("got %v", got)
	}
}

func TestTextThatIsNotUTF8HasNoWireFormat(t *testing.T) {
	t.Parallel()
	if _, err := NewResource(&routev3.VirtualHost{Name: "\xff"}); err == nil {
		t.Error("no error")
	}
}

var benchGroup = GroupID{Namespace: "a", Name: "a"}

func benchmarkTable(b *testing.B, hosts int) (*Cache, *group) {
	b.Helper()
	cache := NewCache()
	changes := []Change{{Group: benchGroup, Type: RouteTable, Name: "t", Resource: header(b, "t")}}
	for i := range hosts {
		domain := fmt.Sprintf("host-%d.example.org", i)
		changes = append(changes, Change{Group: benchGroup, Type: VirtualHost, Table: "t", Name: domain, Resource: virtualHost(b, domain, "")})
	}
	cache.Apply(changes)
	return cache, cache.groups[benchGroup]
}

var benchmarkSizes = []int{100, 10_000}

func BenchmarkApplyOneVirtualHost(b *testing.B) {
	for _, hosts := range benchmarkSizes {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			cache, _ := benchmarkTable(b, hosts)
			variants := [][]Change{
				{{Group: benchGroup, Type: VirtualHost, Table: "t", Name: "host-50.example.org", Resource: virtualHost(b, "host-50.example.org", "x")}},
				{{Group: benchGroup, Type: VirtualHost, Table: "t", Name: "host-50.example.org", Resource: virtualHost(b, "host-50.example.org", "y")}},
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				cache.Apply(variants[i%2])
			}
		})
	}
}

func BenchmarkAssembleRouteTable(b *testing.B) {
	for _, hosts := range benchmarkSizes {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			_, g := benchmarkTable(b, hosts)
			table := g.tables["t"]
			b.ReportAllocs()
			for b.Loop() {
				table.publish()
				b.SetBytes(int64(len(table.current.wire().GetResource().GetValue())))
			}
		})
	}
}
