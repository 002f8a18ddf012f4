package fuzzobjects

import (
	"math"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// databases are those of a fleet. What is at the paths is of no account.
func (w Generator) databases() *v1alpha1.GeoIP {
	path := func() *v1alpha1.DatabasePath { return pick(w, nil, new(v1alpha1.DatabasePath("/geo/a.mmdb"))) }
	return pick(w, nil, &v1alpha1.GeoIP{MaxMind: &v1alpha1.MaxMind{
		CityDBPath: path(), CountryDBPath: path(), ASNDBPath: path(), ISPDBPath: path(), AnonymousIPDBPath: path(),
	}})
}

// parametersName is the ProxyConfig of [HostileGateway].
const parametersName = "databases"

// proxyConfig mostly has all databases, so that a proxy sees what rules ask for.
func (w HostileGenerator) proxyConfig() metav1.Object {
	p := &v1alpha1.ProxyConfig{ObjectMeta: w.meta(HostileGateway.Namespace, parametersName)}
	path := new(v1alpha1.DatabasePath("/geo/a.mmdb"))
	all := &v1alpha1.GeoIP{MaxMind: &v1alpha1.MaxMind{CityDBPath: path, ISPDBPath: path, AnonymousIPDBPath: path}}
	p.Spec.GeoIP = pick(w.Generator, all, all, all, w.databases())
	return p
}

// locations are those of a rule. Most of them are valid: one that is not closes the whole policy.
func (w HostileGenerator) locations() []v1alpha1.ClientIPGeoLocation {
	var all []v1alpha1.ClientIPGeoLocation
	for range w.few(4) {
		is := func() *bool { return pick(w.Generator, nil, new(true), new(false)) }
		l := v1alpha1.ClientIPGeoLocation{
			Country: pick(w.Generator, nil, new("DE"), new("fr")),
			Region:  pick(w.Generator, nil, nil, new("BY")),
			City:    pick(w.Generator, nil, nil, new("a b"), new("日本"), new("(?i)%REQ(x)%"), new(strings.Repeat("a", 128))),
			ISP:     pick(w.Generator, nil, nil, new("a\nb"), new("*")),
			ASN:     pick(w.Generator, nil, nil, new(int64(1)), new(int64(math.MaxUint32))),
			Anonymous: pick(w.Generator, nil, &v1alpha1.GeoIPAnonymous{
				IsAnonymous: new(w.coin()), IsVPN: is(), IsHosting: is(), IsTor: is(), IsProxy: is(),
			}),
		}
		if w.IntN(30) == 0 {
			l.Country, l.City, l.ASN = new(w.text(hostileHeaderValues)), new(w.text(hostileHeaderValues)), new(int64(-1))
		}
		if l != (v1alpha1.ClientIPGeoLocation{}) {
			all = append(all, l)
		}
	}
	return all
}

// locationPolicy has rules by location alone.
func (w HostileGenerator) locationPolicy() *v1alpha1.Authorization {
	a := &v1alpha1.Authorization{DefaultAction: pick(w.Generator, nil, new(v1alpha1.AuthorizationAllow))}
	for range 1 + w.few(4) {
		a.Rules = append(a.Rules, v1alpha1.AuthorizationRule{
			Action: pick(w.Generator, v1alpha1.AuthorizationAllow, v1alpha1.AuthorizationDeny),
			Principal: &v1alpha1.AuthorizationPrincipal{ClientIPGeoLocations: append(w.locations(), v1alpha1.ClientIPGeoLocation{
				Country: new("NL"),
			})},
		})
	}
	return a
}
