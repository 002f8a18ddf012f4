package bisect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/xds/bisect"
)

// host returns a virtual host with routes of these names. A route of the name "filters" stands for filter configuration of the host.
func host(t *testing.T, domain string, routes ...string) bisect.Host {
	t.Helper()
	message := &routev3.VirtualHost{Name: domain, Domains: []string{domain}}
	for _, name := range routes {
		if name == "filters" {
			message.TypedPerFilterConfig = map[string]*anypb.Any{"f": {}}
			continue
		}
		message.Routes = append(message.Routes, &routev3.Route{Name: name})
	}
	config, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return bisect.Host{Domain: domain, Version: "v-" + domain, Config: config}
}

// contents returns `<domain> <route>` for each route in a probe, and `<domain> filters` for filter configuration.
func contents(t *testing.T, probe *listenerv3.Listener) []string {
	t.Helper()
	manager := &hcmv3.HttpConnectionManager{}
	if err := probe.GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	if probe.GetBindToPort().GetValue() {
		t.Error("a probe binds a port")
	}
	var found []string
	for _, h := range manager.GetRouteConfig().GetVirtualHosts() {
		if len(h.GetTypedPerFilterConfig()) > 0 {
			found = append(found, h.GetName()+" filters")
		}
		for _, route := range h.GetRoutes() {
			found = append(found, h.GetName()+" "+route.GetName())
		}
	}
	return found
}

// complete answers probes as an Envoy that rejects some of them, until the search is complete.
func complete(t *testing.T, search *bisect.Search, rejects func(contents []string) bool) []bisect.Culprit {
	t.Helper()
	probes := search.Next("")
	for range 20 {
		if len(probes) == 0 {
			return search.Culprits()
		}
		answer := ""
		for i, probe := range probes {
			if probe.GetName() != bisect.ProbeName(i) {
				t.Errorf("probe %d has the name %s", i, probe.GetName())
			}
			if rejects(contents(t, probe)) {
				answer += probe.GetName() + ": bad\n"
			}
		}
		if answer != "" {
			answer = "Error adding/updating listener(s) " + answer
		}
		probes = search.Next(answer)
	}
	t.Fatal("the search does not end")
	return nil
}

func TestSearchFindsTheCulprits(t *testing.T) {
	t.Parallel()
	bad := func(names ...string) func([]string) bool {
		return func(contents []string) bool {
			return slices.ContainsFunc(contents, func(c string) bool { return slices.Contains(names, c) })
		}
	}
	var many []bisect.Host
	for i := range 500 {
		many = append(many, host(t, fmt.Sprintf("h%d", i), "a", "b", "c"))
	}
	for _, test := range []struct {
		name    string
		hosts   []bisect.Host
		rejects func([]string) bool
		want    string
	}{
		{"no host", nil, bad(), ""},
		{"the only route", []bisect.Host{host(t, "x", "a")}, bad("x a"), "x [a]: bad"},
		{"one route of several", []bisect.Host{host(t, "x", "a", "b"), host(t, "y", "a", "b")}, bad("y b"), "y [b]: bad"},
		{"filters of a host", []bisect.Host{host(t, "x", "filters", "a", "b")}, bad("x filters"), "x [] filters: bad"},
		{
			"routes that are rejected only together",
			[]bisect.Host{host(t, "x", "a", "b"), host(t, "y", "a")},
			func(contents []string) bool {
				return slices.Contains(contents, "x a") && slices.Contains(contents, "x b")
			},
			"x [a b] together: bad",
		},
		{"two routes among many hosts", many, bad("h7 b", "h400 c"), "h7 [b]: bad, h400 [c]: bad"},
		{"no part of it", []bisect.Host{host(t, "x", "a"), host(t, "y", "a")}, bad(), "x [a] together: no, y [a] together: no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range complete(t, bisect.New(nil, func() []bisect.Host { return test.hosts }, "no"), test.rejects) {
				text := fmt.Sprint(c.Domain, " ", c.Routes)
				if c.Filters {
					text += " filters"
				}
				if c.Together {
					text += " together"
				}
				if c.Version != "v-"+c.Domain {
					t.Errorf("%s has version %s", c.Domain, c.Version)
				}
				got = append(got, text+": "+c.Reason)
			}
			if all := strings.Join(got, ", "); all != test.want {
				t.Errorf("got %q, want %q", all, test.want)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	sent := func(name string) bool { return name == "a" || name == "a/b" }
	for _, test := range []struct{ reason, want, ofA string }{
		{"Error adding/updating cluster(s) a: no\n", "a", "no"},
		{"Error adding/updating listener(s) a: no such a/b: x\na/b: nor this\n", "a a/b", "no such a/b: x"},
		{"c: quotes a: b", "", "c: quotes a: b"},
		{"nothing is named", "", "nothing is named"},
	} {
		if got := strings.Join(bisect.Named(test.reason, sent), " "); got != test.want {
			t.Errorf("%q names %q, want %q", test.reason, got, test.want)
		}
		if got := bisect.ReasonOf("a", test.reason); got != test.ofA {
			t.Errorf("%q says of a %q, want %q", test.reason, got, test.ofA)
		}
	}
}
