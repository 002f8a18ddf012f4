package filter

import (
	"slices"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	geoipv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/geoip/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	geocommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/geoip_providers/common/v3"
	maxmindv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/geoip_providers/maxmind/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// GeoIP writes where the address of a client is into headers, for the rules of [Authorization], which runs next and removes the headers.
// Whatever has such a name before is removed: Envoy leaves a header alone where it finds nothing.
const GeoIP = "gatewright.geoip"

const (
	geoHeaderPrefix    = "x-gatewright-geo-"
	headerMutationName = "envoy.filters.http.header_mutation"
)

var geoIP = runsByPolicy(GeoIP, func(policy *ir.RequestPolicy) []run {
	if !policy.Locates() {
		return nil
	}
	return []run{withoutGeoHeaders, {"envoy.filters.http.geoip", geoLookup}}
})

var withoutGeoHeaders = run{headerMutationName, &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
	RequestMutations: []*mutationv3.HeaderMutation{RemoveHeaders(ir.StringMatch{Kind: ir.Prefix, Value: geoHeaderPrefix})},
}}}

// geoLookup is the same in all routes: Envoy keeps databases open as long as one has it. It looks for the address that rules about
// addresses see.
var geoLookup = &geoipv3.Geoip{Provider: &corev3.TypedExtensionConfig{
	Name: "envoy.geoip_providers.maxmind", TypedConfig: wire.Any(geoDatabases),
}}

var geoDatabases = &maxmindv3.MaxMindConfig{
	CityDbPath: geoFile(ir.GeoCityDB), CountryDbPath: geoFile(ir.GeoCountryDB), AsnDbPath: geoFile(ir.GeoASNDB),
	IspDbPath: geoFile(ir.GeoISPDB), AnonDbPath: geoFile(ir.GeoAnonymousIPDB),
	CommonProviderConfig: &geocommonv3.CommonGeoipProviderConfig{
		GeoFieldKeys: &geocommonv3.CommonGeoipProviderConfig_GeolocationFieldKeys{
			Country: geoHeader(ir.GeoCountry), Region: geoHeader(ir.GeoRegion), City: geoHeader(ir.GeoCity), Asn: geoHeader(ir.GeoASN),
			Isp: geoHeader(ir.GeoISP), Anon: geoHeader(ir.GeoAnonymous), AnonHosting: geoHeader(ir.GeoHosting),
			AnonProxy: geoHeader(ir.GeoProxy), AnonTor: geoHeader(ir.GeoTor), AnonVpn: geoHeader(ir.GeoVPN),
		},
	},
}

func geoFile(d ir.GeoDatabase) string { return ir.GeoDirectory + "/" + ir.GeoFile(d) }

func geoHeader(f ir.GeoField) string { return geoHeaderPrefix + string(f) }

func geoInput(f ir.GeoField) *matcherv3.HttpRequestHeaderMatchInput {
	return &matcherv3.HttpRequestHeaderMatchInput{HeaderName: geoHeader(f)}
}

// location is met by clients at any of some places. Where a proxy has no database, a rule that allows does not match and a rule that denies
// does.
func location(places []ir.GeoLocation, allow bool) *predicate {
	var ways []*predicate
	var countries []string
	for _, place := range places {
		if len(place) == 1 && place[0].Field == ir.GeoCountry {
			countries = append(countries, place[0].Value)
			continue
		}
		all := make([]*predicate, 0, len(place))
		for _, value := range place {
			all = append(all, geoValue(value, allow))
		}
		ways = append(ways, allOf(all))
	}
	if len(countries) > 0 {
		ways = append(ways, countryOf(countries, allow))
	}
	return anyOfThem(ways)
}

// countryOf is met by clients in any of some countries, of which there may be many.
func countryOf(countries []string, allow bool) *predicate {
	countries = slices.Compact(slices.Sorted(slices.Values(countries)))
	return withoutDatabase(ir.GeoCountry, allow, single(geoInput(ir.GeoCountry), text(ir.StringMatch{
		Kind: ir.Regex, Value: strings.Join(countries, "|"),
	})))
}

// geoValue is met by clients for whose address a field has a value. An address that a database of anonymous networks does not have is in
// none of them.
func geoValue(v ir.GeoValue, allow bool) *predicate {
	input := geoInput(v.Field)
	if v.Value == geoFalse {
		never := []string{geoTrue}
		if allow {
			never = append(never, ir.NoDatabase)
		}
		return not(anyText(input, never, exactText))
	}
	return withoutDatabase(v.Field, allow, single(input, anyCase(v.Value)))
}

// The values of the fields of anonymous networks, as Envoy writes them.
const (
	geoTrue  = "true"
	geoFalse = "false"
)

// withoutDatabase adds to what a rule denies the clients of proxies that have no database for a field.
func withoutDatabase(field ir.GeoField, allow bool, matches *predicate) *predicate {
	if allow {
		return matches
	}
	return anyOfThem([]*predicate{matches, single(geoInput(field), text(exactText(ir.NoDatabase)))})
}
