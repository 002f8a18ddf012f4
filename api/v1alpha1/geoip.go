package v1alpha1

// GeoIP has databases about addresses.
type GeoIP struct {
	// MaxMind are databases in the format of MaxMind.
	//
	// +required
	MaxMind *MaxMind `json:"maxMind,omitempty"`
}

// DatabasePath is the path of a file in the container install-drain of the pods of proxies. A volume for it is added with a patch. The file
// is copied when a pod starts; a pod whose file cannot be read does not start.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:Pattern=`^/[^\x00-\x1f\x7f]+$`
type DatabasePath string

// MaxMind are databases in the format of MaxMind, such as GeoIP2 and GeoLite2.
//
// +kubebuilder:validation:XValidation:rule="has(self.cityDBPath) || has(self.countryDBPath) || has(self.asnDBPath) || has(self.ispDBPath) || has(self.anonymousIPDBPath)",message="set at least one path"
type MaxMind struct {
	// CityDBPath is the database of cities, for city and region, and for country where countryDBPath is not set.
	//
	// +optional
	CityDBPath *DatabasePath `json:"cityDBPath,omitempty"`

	// CountryDBPath is the database of countries, for country.
	//
	// +optional
	CountryDBPath *DatabasePath `json:"countryDBPath,omitempty"`

	// ASNDBPath is the database of autonomous systems, for asn.
	//
	// +optional
	ASNDBPath *DatabasePath `json:"asnDBPath,omitempty"`

	// ISPDBPath is the database of internet service providers, for isp, and for asn where asnDBPath is not set.
	//
	// +optional
	ISPDBPath *DatabasePath `json:"ispDBPath,omitempty"`

	// AnonymousIPDBPath is the database of anonymous networks, for anonymous.
	//
	// +optional
	AnonymousIPDBPath *DatabasePath `json:"anonymousIPDBPath,omitempty"`
}

// ClientIPGeoLocation is where a client is by its address. All fields have to match.
//
// +kubebuilder:validation:XValidation:rule="has(self.country) || has(self.region) || has(self.city) || has(self.asn) || has(self.isp) || has(self.anonymous)",message="set at least one of country, region, city, asn, isp and anonymous"
type ClientIPGeoLocation struct {
	// Country is the code of a country in ISO 3166-1, such as DE, in any case.
	//
	// +kubebuilder:validation:Pattern=`^[A-Za-z]{2}$`
	// +kubebuilder:validation:MaxLength=2
	// +optional
	Country *string `json:"country,omitempty"`

	// Region is the code of the largest part of the country in ISO 3166-2, without the country, such as BY, in any case.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	// +optional
	Region *string `json:"region,omitempty"`

	// City is the English name of a city, in any case.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	City *string `json:"city,omitempty"`

	// ASN is the number of an autonomous system.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967295
	// +optional
	ASN *int64 `json:"asn,omitempty"`

	// ISP is the name of an internet service provider, in any case.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	ISP *string `json:"isp,omitempty"`

	// Anonymous is whether the address belongs to an anonymous network.
	//
	// +optional
	Anonymous *GeoIPAnonymous `json:"anonymous,omitempty"`
}

// GeoIPAnonymous is what the database of anonymous networks has of an address. All fields have to match. An address that the database
// does not have is false in all of them.
//
// +kubebuilder:validation:XValidation:rule="has(self.isAnonymous) || has(self.isVPN) || has(self.isHosting) || has(self.isTor) || has(self.isProxy)",message="set at least one of isAnonymous, isVPN, isHosting, isTor and isProxy"
type GeoIPAnonymous struct {
	// IsAnonymous is whether the address belongs to any anonymous network.
	//
	// +optional
	IsAnonymous *bool `json:"isAnonymous,omitempty"`

	// IsVPN is whether the address belongs to a provider of anonymous VPNs.
	//
	// +optional
	IsVPN *bool `json:"isVPN,omitempty"`

	// IsHosting is whether the address belongs to a hosting or VPN provider.
	//
	// +optional
	IsHosting *bool `json:"isHosting,omitempty"`

	// IsTor is whether the address is an exit of Tor.
	//
	// +optional
	IsTor *bool `json:"isTor,omitempty"`

	// IsProxy is whether the address is a public proxy.
	//
	// +optional
	IsProxy *bool `json:"isProxy,omitempty"`
}
