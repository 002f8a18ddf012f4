//go:build translation

package translation

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/geoip"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// Addresses of clients, of which the databases of the test know the first ones.
const (
	inMunich  = "192.0.2.1"
	inParis   = "198.51.100.1"
	atTor     = "203.0.113.1"
	inIPv6    = "2001:db8::1"
	nowhere   = "10.0.0.1"
	geoHeader = "X-Gatewright-Geo-"
)

func writeDatabase(t *testing.T, networks map[string]geoip.Record) string {
	t.Helper()
	all := map[netip.Prefix]geoip.Record{}
	for network, record := range networks {
		all[netip.MustParsePrefix(network)] = record
	}
	content, err := geoip.Write(all)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func testDatabases(t *testing.T) ir.GeoDatabases {
	t.Helper()
	entry := func(country, region, city string) geoip.Record {
		return geoip.Record{
			"country": geoip.Record{"iso_code": country}, "subdivisions": []any{geoip.Record{"iso_code": region}},
			"city": geoip.Record{"names": geoip.Record{"en": city}},
		}
	}
	return ir.GeoDatabases{
		City: writeDatabase(t, map[string]geoip.Record{
			"192.0.2.0/24": entry("DE", "BY", "Munich"), "198.51.100.0/24": entry("FR", "IDF", "Paris"),
			"203.0.113.0/24": entry("NL", "NH", "Amsterdam"), "2001:db8::/32": entry("DE", "BE", "Köln"),
		}),
		ISP: writeDatabase(t, map[string]geoip.Record{
			"192.0.2.0/24": {"autonomous_system_number": uint32(64496), "isp": "Example Telecom"},
		}),
		AnonymousIP: writeDatabase(t, map[string]geoip.Record{
			"203.0.113.0/24": {"is_anonymous": true, "is_tor_exit_node": true},
		}),
	}
}

// startLocating is startProxy for a proxy that has databases, and takes the address of a client from x-forwarded-for.
func startLocating(t *testing.T, databases ir.GeoDatabases, rules ...ir.Authorization) *proxy {
	t.Helper()
	for i := range rules {
		rules[i].Policy = policyName
	}
	p, bootstrap := newProxy(t, guarded(&ir.RequestPolicy{Authorization: rules}), nil)
	manager, set := managerOf(t, bootstrap)
	manager.XffNumTrustedHops = 1
	set(manager)
	directory := filepath.Join(t.TempDir(), "geoip")
	if err := geoip.Install(directory, databases.Sources()); err != nil {
		t.Fatal(err)
	}
	p.address = runEnvoy(t, bootstrap, ir.GeoDirectory, directory)
	return p
}

// managerOf is the connection manager of the only listener, and replaces it.
func managerOf(t *testing.T, bootstrap *bootstrapv3.Bootstrap) (*hcmv3.HttpConnectionManager, func(*hcmv3.HttpConnectionManager)) {
	t.Helper()
	filters := bootstrap.GetStaticResources().GetListeners()[0].GetFilterChains()[0].GetFilters()
	manager, last := &hcmv3.HttpConnectionManager{}, filters[len(filters)-1].GetTypedConfig()
	if err := last.UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	return manager, func(m *hcmv3.HttpConnectionManager) { last.Value = wire.Any(m).GetValue() }
}

// from is a request of a client at an address, with more headers.
func from(address, name string, want int, headers ...string) asked {
	a := asked{name: name, headers: map[string]string{"X-Forwarded-For": address}, want: want, seen: map[string]string{}}
	for pair := range slices.Chunk(headers, 2) {
		a.headers[pair[0]] = pair[1]
	}
	for _, field := range []ir.GeoField{ir.GeoCountry, ir.GeoCity, ir.GeoTor, ir.GeoISP} {
		a.seen[geoHeader+string(field)] = ""
	}
	return a
}

func place(values ...string) ir.GeoLocation {
	var l ir.GeoLocation
	for pair := range slices.Chunk(values, 2) {
		l = append(l, ir.GeoValue{Field: ir.GeoField(pair[0]), Value: pair[1]})
	}
	return l
}

// TestLocationsThatAreAllowed: what is not known is not allowed, and no header of a client passes for what is known.
func TestLocationsThatAreAllowed(t *testing.T) {
	t.Parallel()
	p := startLocating(t, testDatabases(t), ir.Authorization{Rules: []ir.AuthorizationRule{
		{Allow: true, Locations: []ir.GeoLocation{place("country", "DE"), place("country", "AT"), place("country", "NL", "tor", "false")}},
		{
			Allow: true, Headers: []ir.HeaderValues{{Name: "x-open", Values: []string{"1"}}},
			Locations: []ir.GeoLocation{place("anonymous", "false")},
		},
	}})
	for _, a := range []asked{
		from(inMunich, "a country", 200),
		from(inIPv6, "an address of IPv6", 200),
		from(inParis, "another country", 403),
		from(atTor, "an exit of Tor", 403),
		from(nowhere, "an address that is nowhere", 403),
		from(nowhere, "a header of the client", 403, geoHeader+"Country", "DE"),
		from(inParis, "a header of the client beside a known address", 403, geoHeader+"Country", "DE"),
		from(inMunich, "a header that is replaced", 200, geoHeader+"Country", "FR", geoHeader+"Other", "x"),
		from(nowhere, "no anonymous network", 200, "X-Open", "1"),
		from(atTor, "an anonymous network", 403, "X-Open", "1"),
	} {
		p.check(t, a)
	}
	other := startLocating(t, testDatabases(t), ir.Authorization{Rules: []ir.AuthorizationRule{{
		Allow: true, Locations: []ir.GeoLocation{place("asn", "64496", "isp", "example TELECOM", "region", "BY", "city", "munich")},
	}}})
	other.check(t, from(inMunich, "all fields", 200))
	other.check(t, from(inIPv6, "some fields", 403))
}

// TestLocationsThatAreDenied: what is not known is not denied.
func TestLocationsThatAreDenied(t *testing.T) {
	t.Parallel()
	p := startLocating(t, testDatabases(t), ir.Authorization{Allow: true, Rules: []ir.AuthorizationRule{
		{Locations: []ir.GeoLocation{place("country", "DE"), place("tor", "true"), place("city", "Paris")}},
	}}, ir.Authorization{Allow: true})
	for _, a := range []asked{
		from(inMunich, "a country", 403), from(inParis, "a city", 403), from(atTor, "an exit of Tor", 403),
		from(nowhere, "an address that is nowhere", 200),
		from(nowhere, "a header of the client that is removed", 200, geoHeader+"Country", "DE"),
		from(inMunich, "a header of the client beside a known address", 403, geoHeader+"Country", "FR"),
	} {
		p.check(t, a)
	}
}

// TestLocationsWithoutDatabases: where databases are not there, nothing is allowed and everything is denied.
func TestLocationsWithoutDatabases(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]ir.AuthorizationRule{
		"allowed": {Allow: true, Locations: []ir.GeoLocation{
			place("country", "DE"), place("asn", "64496"), place("isp", "a", "city", "b"),
		}},
		"allowed if not true": {Allow: true, Locations: []ir.GeoLocation{
			place("vpn", "false"), place("hosting", "false"), place("proxy", "false"),
		}},
		"denied country": {Locations: []ir.GeoLocation{place("country", "DE")}},
		"denied fields":  {Locations: []ir.GeoLocation{place("asn", "1", "isp", "a", "city", "b", "region", "c", "country", "DE")}},
		"denied networks": {Locations: []ir.GeoLocation{
			place("anonymous", "true", "vpn", "true", "hosting", "true", "proxy", "true", "tor", "true"),
		}},
		"denied if not true": {Locations: []ir.GeoLocation{place("tor", "false")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startLocating(t, ir.GeoDatabases{}, ir.Authorization{Allow: !rule.Allow, Rules: []ir.AuthorizationRule{rule}})
			for _, address := range []string{inMunich, inIPv6, nowhere} {
				p.check(t, from(address, address, 403))
			}
		})
	}
}

// TestLocationsThatComeAndGo: proxies open databases with the first route that asks for them, close them with the last, and open them
// again.
func TestLocationsThatComeAndGo(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if err := geoip.Install(filepath.Join(directory, "geoip"), testDatabases(t).Sources()); err != nil {
		t.Fatal(err)
	}
	tables := filepath.Join(directory, "routes.json")
	replace := strings.NewReplacer(ir.GeoDirectory, filepath.Join(directory, "geoip"))
	write := func(table *routev3.RouteConfiguration) {
		text, err := protojson.Marshal(&discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{wire.Any(table)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tables+".new", []byte(replace.Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tables+".new", tables); err != nil {
			t.Fatal(err)
		}
	}
	locating := guarded(&ir.RequestPolicy{Authorization: []ir.Authorization{{Policy: policyName, Rules: []ir.AuthorizationRule{{
		Allow: true, Locations: []ir.GeoLocation{place("country", "DE")},
	}}}}})
	p, bootstrap := newProxy(t, locating, nil)
	_, open := newProxy(t, guarded(nil), nil)
	manager, set := managerOf(t, bootstrap)
	closed := manager.GetRouteConfig()
	other, _ := managerOf(t, open)
	write(closed)
	manager.XffNumTrustedHops = 1
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
		RouteConfigName: closed.GetName(), ConfigSource: &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: tables},
		}},
	}}
	set(manager)
	p.address = runEnvoy(t, bootstrap)
	for range 20 {
		p.eventually(t, from(inParis, "another country", 403))
		p.check(t, from(inMunich, "a country", 200))
		write(other.GetRouteConfig())
		p.eventually(t, from(inParis, "no rules", 200))
		write(closed)
	}
}
