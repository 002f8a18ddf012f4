package ir

// GeoDirectory is where proxies find the databases of addresses. Each of [GeoFile] is there in every pod, whatever its ProxyConfig says:
// proxies reject routes that name a database which is not there.
const GeoDirectory = "/run/gatewright/geoip"

// NoDatabase is what a proxy finds for every address where it has no database.
const NoDatabase = "?"

// GeoField is what is known about the address of a client.
type GeoField string

// The fields.
const (
	GeoCountry   GeoField = "country"
	GeoRegion    GeoField = "region"
	GeoCity      GeoField = "city"
	GeoASN       GeoField = "asn"
	GeoISP       GeoField = "isp"
	GeoAnonymous GeoField = "anonymous"
	GeoHosting   GeoField = "hosting"
	GeoProxy     GeoField = "proxy"
	GeoTor       GeoField = "tor"
	GeoVPN       GeoField = "vpn"
)

// GeoLocation matches clients for whose address all fields have these values. A field of the anonymous networks is true or false.
type GeoLocation []GeoValue

// GeoValue is the value of a field.
type GeoValue struct {
	Field GeoField
	Value string
}

// GeoDatabase is a kind of database.
type GeoDatabase string

// The databases.
const (
	GeoCityDB        GeoDatabase = "city"
	GeoCountryDB     GeoDatabase = "country"
	GeoASNDB         GeoDatabase = "asn"
	GeoISPDB         GeoDatabase = "isp"
	GeoAnonymousIPDB GeoDatabase = "anonymousIP"
)

// GeoFile is the name of a database in [GeoDirectory].
func GeoFile(d GeoDatabase) string { return string(d) + ".mmdb" }

// GeoDatabases are where databases lie in the pod of a proxy, when it starts; empty for one that is not there.
type GeoDatabases struct{ City, Country, ASN, ISP, AnonymousIP string }

// IsZero reports whether there is no database.
func (d GeoDatabases) IsZero() bool { return d == GeoDatabases{} }

// GeoSource is the file that a database is taken from.
type GeoSource struct {
	Database GeoDatabase
	Path     string
}

// Sources are the files of all databases, with an empty path for one that is not there. Countries are in databases of cities too, and
// numbers of networks in those of providers.
func (d GeoDatabases) Sources() []GeoSource {
	country, asn := d.Country, d.ASN
	if country == "" {
		country = d.City
	}
	if asn == "" {
		asn = d.ISP
	}
	return []GeoSource{
		{GeoCityDB, d.City}, {GeoCountryDB, country}, {GeoASNDB, asn}, {GeoISPDB, d.ISP}, {GeoAnonymousIPDB, d.AnonymousIP},
	}
}

// geoNeeds are the database in which a field is found, and the fields of a ProxyConfig that give it.
var geoNeeds = map[GeoField]struct {
	database GeoDatabase
	settings string
}{
	GeoCountry: {GeoCountryDB, "countryDBPath or cityDBPath"},
	GeoRegion:  {GeoCityDB, "cityDBPath"}, GeoCity: {GeoCityDB, "cityDBPath"},
	GeoASN: {GeoASNDB, "asnDBPath or ispDBPath"}, GeoISP: {GeoISPDB, "ispDBPath"},
	GeoAnonymous: {GeoAnonymousIPDB, anonymousIPDBPath}, GeoHosting: {GeoAnonymousIPDB, anonymousIPDBPath},
	GeoProxy: {GeoAnonymousIPDB, anonymousIPDBPath}, GeoTor: {GeoAnonymousIPDB, anonymousIPDBPath},
	GeoVPN: {GeoAnonymousIPDB, anonymousIPDBPath},
}

const anonymousIPDBPath = "anonymousIPDBPath"

// Missing finds a field of locations that the databases do not have. settings are the fields of geoIP.maxMind that give it, and empty if
// all are there.
func (d GeoDatabases) Missing(all []Authorization) (field GeoField, settings string) {
	for i := range all {
		for j := range all[i].Rules {
			for _, location := range all[i].Rules[j].Locations {
				for _, value := range location {
					need := geoNeeds[value.Field]
					if !d.has(need.database) {
						return value.Field, need.settings
					}
				}
			}
		}
	}
	return "", ""
}

func (d GeoDatabases) has(database GeoDatabase) bool {
	for _, s := range d.Sources() {
		if s.Database == database {
			return s.Path != ""
		}
	}
	return false
}

// Locates says whether a rule asks where a client is.
func (p *RequestPolicy) Locates() bool {
	if p == nil {
		return false
	}
	// Without any database everything is missing that a rule asks for.
	field, _ := GeoDatabases{}.Missing(p.Authorization)
	return field != ""
}

// WithDatabases is the host at proxies with these databases. Rules that ask for more answer an error.
func (h VirtualHost) WithDatabases(d GeoDatabases) VirtualHost {
	return h.closed(func(p *RequestPolicy) bool {
		if p == nil {
			return false
		}
		field, _ := d.Missing(p.Authorization)
		return field != ""
	})
}
