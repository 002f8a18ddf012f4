package v1alpha1

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// LoadBalancer chooses an endpoint of a backend.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'ConsistentHash' ? has(self.consistentHash) : !has(self.consistentHash)",message="set consistentHash for type ConsistentHash, and for no other"
// +kubebuilder:validation:XValidation:rule="self.type == 'BackendUtilization' || !has(self.backendUtilization)",message="set backendUtilization for type BackendUtilization only"
// +kubebuilder:validation:XValidation:rule="!has(self.slowStart) || self.type in ['RoundRobin', 'LeastRequest', 'BackendUtilization']",message="slowStart is for the types RoundRobin, LeastRequest and BackendUtilization"
// +kubebuilder:validation:XValidation:rule="!has(self.zoneAware)",message="zoneAware is not served; set trafficDistribution: PreferSameZone on the Service instead, which proxies follow"
type LoadBalancer struct {
	// Type is how an endpoint is chosen.
	//
	// +required
	Type LoadBalancerType `json:"type"`

	// ConsistentHash sends requests with the same value to the same endpoint.
	//
	// +optional
	ConsistentHash *ConsistentHash `json:"consistentHash,omitempty"`

	// BackendUtilization weighs endpoints by the load that they report (ORCA).
	//
	// +optional
	BackendUtilization *BackendUtilization `json:"backendUtilization,omitempty"`

	// EndpointOverride lets a header of the request choose the endpoint.
	//
	// +optional
	EndpointOverride *EndpointOverride `json:"endpointOverride,omitempty"`

	// SlowStart gives a new endpoint fewer requests at first.
	//
	// +optional
	SlowStart *SlowStart `json:"slowStart,omitempty"`

	// ZoneAware is not served. Set trafficDistribution on the Service instead, which proxies follow.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	ZoneAware *ZoneAware `json:"zoneAware,omitempty"`
}

// ZoneAware is not served.
type ZoneAware struct{}

// LoadBalancerType is how an endpoint is chosen.
//
// +kubebuilder:validation:Enum=ConsistentHash;LeastRequest;Random;RoundRobin;BackendUtilization
type LoadBalancerType string

// The types of load balancers.
const (
	LoadBalancerConsistentHash     LoadBalancerType = "ConsistentHash"
	LoadBalancerLeastRequest       LoadBalancerType = "LeastRequest"
	LoadBalancerRandom             LoadBalancerType = "Random"
	LoadBalancerRoundRobin         LoadBalancerType = "RoundRobin"
	LoadBalancerBackendUtilization LoadBalancerType = "BackendUtilization"
)

// ConsistentHash sends requests with the same value to the same endpoint.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'Header' ? has(self.header) : !has(self.header)",message="set header for type Header, and for no other"
// +kubebuilder:validation:XValidation:rule="self.type == 'Headers' ? has(self.headers) : !has(self.headers)",message="set headers for type Headers, and for no other"
// +kubebuilder:validation:XValidation:rule="self.type == 'Cookie' ? has(self.cookie) : !has(self.cookie)",message="set cookie for type Cookie, and for no other"
// +kubebuilder:validation:XValidation:rule="self.type == 'QueryParams' ? has(self.queryParams) : !has(self.queryParams)",message="set queryParams for type QueryParams, and for no other"
type ConsistentHash struct {
	// Type is which value counts.
	//
	// +required
	Type ConsistentHashType `json:"type"`

	// Header is one header.
	//
	// +optional
	Header *HashHeader `json:"header,omitempty"`

	// Headers are several headers, of which all count.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Headers []HashHeader `json:"headers,omitempty"`

	// Cookie is a cookie, which the proxy sets for clients that do not have it.
	//
	// +optional
	Cookie *HashCookie `json:"cookie,omitempty"`

	// QueryParams are parameters of the query, of which all count.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	QueryParams []HashQueryParam `json:"queryParams,omitempty"`

	// TableSize is the size of the Maglev table, a prime number. The default is 65537.
	//
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=5000011
	// +optional
	TableSize *int64 `json:"tableSize,omitempty"`
}

// ConsistentHashType is which value counts.
//
// +kubebuilder:validation:Enum=SourceIP;Header;Headers;Cookie;QueryParams
type ConsistentHashType string

// The values that can count.
const (
	HashSourceIP    ConsistentHashType = "SourceIP"
	HashByHeader    ConsistentHashType = "Header"
	HashByHeaders   ConsistentHashType = "Headers"
	HashByCookie    ConsistentHashType = "Cookie"
	HashByParameter ConsistentHashType = "QueryParams"
)

// HashHeader is a header.
type HashHeader struct {
	// Name of the header.
	//
	// +required
	Name gwv1.HTTPHeaderName `json:"name"`
}

// HashQueryParam is a parameter of the query.
type HashQueryParam struct {
	// Name of the parameter.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`
}

// HashCookie is a cookie.
type HashCookie struct {
	// Name of the cookie.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+\-.^_|~]+$`
	// +required
	Name string `json:"name"`

	// TTL is how long a client keeps the cookie that the proxy sets. Without it the proxy sets none; with 0s clients keep it as long as they
	// run.
	//
	// +optional
	TTL *gwv1.Duration `json:"ttl,omitempty"`

	// Attributes of the cookie that the proxy sets, such as SameSite: Strict.
	//
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Attributes map[string]string `json:"attributes,omitempty"`
}

// BackendUtilization weighs endpoints by the load that they report (ORCA). Clients do not see reports in responses, unless
// keepResponseHeaders is true.
type BackendUtilization struct {
	// BlackoutPeriod is how long an endpoint must have reported before its weight counts. The default is 10s.
	//
	// +optional
	BlackoutPeriod *gwv1.Duration `json:"blackoutPeriod,omitempty"`

	// WeightExpirationPeriod is after how long without a report a weight no longer counts. The default is 3m.
	//
	// +optional
	WeightExpirationPeriod *gwv1.Duration `json:"weightExpirationPeriod,omitempty"`

	// WeightUpdatePeriod is how often weights are computed, at least 100ms. The default is 1s.
	//
	// +optional
	WeightUpdatePeriod *gwv1.Duration `json:"weightUpdatePeriod,omitempty"`

	// ErrorUtilizationPenaltyPercent lowers the weight of endpoints with errors; 100 is a factor of 1.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	ErrorUtilizationPenaltyPercent *int32 `json:"errorUtilizationPenaltyPercent,omitempty"`

	// MetricNamesForComputingUtilization count where an endpoint does not report its utilization, such as named_metrics.foo.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	MetricNamesForComputingUtilization []string `json:"metricNamesForComputingUtilization,omitempty"`

	// KeepResponseHeaders passes reports on to clients, in headers and trailers. The default is false.
	//
	// +optional
	KeepResponseHeaders *bool `json:"keepResponseHeaders,omitempty"`

	// OutOfBand asks endpoints for reports, by xds.service.orca.v3.OpenRcaService.
	//
	// +optional
	OutOfBand *OutOfBandReporting `json:"outOfBand,omitempty"`
}

// OutOfBandReporting asks endpoints for reports.
type OutOfBandReporting struct {
	// ReportingPeriod is how often endpoints report, at least 1s. The default is 10s.
	//
	// +optional
	ReportingPeriod *gwv1.Duration `json:"reportingPeriod,omitempty"`

	// Port is asked instead of the port of the endpoint.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port *int32 `json:"port,omitempty"`

	// Authority is that of the call.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=259
	// +kubebuilder:validation:Pattern=`^[!-~]*$`
	// +optional
	Authority *string `json:"authority,omitempty"`
}

// EndpointOverride lets a header of the request choose the endpoint. One that is no endpoint of the backend is ignored.
type EndpointOverride struct {
	// ExtractFrom is where the address is found, `10.0.0.5:8080`. The first that is there counts.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +required
	ExtractFrom []EndpointOverrideSource `json:"extractFrom"`
}

// EndpointOverrideSource is where the address of an endpoint is found.
type EndpointOverrideSource struct {
	// Header has the address.
	//
	// +required
	Header gwv1.HTTPHeaderName `json:"header"`
}

// SlowStart gives a new endpoint fewer requests at first.
type SlowStart struct {
	// Window is how long an endpoint is new.
	//
	// +required
	Window gwv1.Duration `json:"window"`
}
