package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// CircuitBreaker bounds what each proxy may have open to a backend. Requests beyond a limit are answered 503.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxRequests)",message="maxRequests is not a setting; use maxParallelRequests"
// +kubebuilder:validation:XValidation:rule="!has(self.maxRetries)",message="maxRetries is not a setting; use maxParallelRetries"
type CircuitBreaker struct {
	// MaxConnections is how many connections there may be. The default is 10000.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +optional
	MaxConnections *int64 `json:"maxConnections,omitempty"`

	// MaxPendingRequests is how many requests may wait for a connection. The default is 10000.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +optional
	MaxPendingRequests *int64 `json:"maxPendingRequests,omitempty"`

	// MaxParallelRequests is how many requests may be under way. The default is 10000.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +optional
	MaxParallelRequests *int64 `json:"maxParallelRequests,omitempty"`

	// MaxParallelRetries is how many retries may be under way. A retryBudget wins over it. The default is a budget.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +optional
	MaxParallelRetries *int64 `json:"maxParallelRetries,omitempty"`

	// MaxRequestsPerConnection closes a connection after so many requests. There is no limit by default, nor with 0.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +optional
	MaxRequestsPerConnection *int64 `json:"maxRequestsPerConnection,omitempty"`

	// PerEndpoint are limits for each endpoint.
	//
	// +optional
	PerEndpoint *PerEndpointCircuitBreaker `json:"perEndpoint,omitempty"`

	// RetryBudget bounds retries to a share of the requests under way. An XBackendTrafficPolicy on the backend wins over it.
	//
	// +optional
	RetryBudget *RetryBudget `json:"retryBudget,omitempty"`

	// MaxRequests is rejected. Use maxParallelRequests.
	//
	// +optional
	MaxRequests *int64 `json:"maxRequests,omitempty"`

	// MaxRetries is rejected. Use maxParallelRetries.
	//
	// +optional
	MaxRetries *int64 `json:"maxRetries,omitempty"`
}

// PerEndpointCircuitBreaker are limits for each endpoint.
type PerEndpointCircuitBreaker struct {
	// MaxConnections is how many connections there may be to one endpoint. There is no limit by default.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +optional
	MaxConnections *int64 `json:"maxConnections,omitempty"`
}

// RetryBudget bounds retries to a share of the requests under way.
type RetryBudget struct {
	// Percent is the share, such as numerator 20 for 20%.
	//
	// +required
	Percent gwv1.Fraction `json:"percent"`

	// MinRetryConcurrency is how many retries may always be under way. The default is 3.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinRetryConcurrency *int32 `json:"minRetryConcurrency,omitempty"`
}

// BackendConnection are the buffers of connections to a backend, and connections that are made ahead of time.
type BackendConnection struct {
	// BufferLimit is how many bytes a proxy holds for a connection, from 1Ki to 2Gi. The default is 32Ki.
	//
	// +optional
	BufferLimit *resource.Quantity `json:"bufferLimit,omitempty"`

	// SocketBufferLimit is the size of the kernel's buffers for a connection, from 1Ki to 1Gi. The default is the kernel's.
	//
	// +optional
	SocketBufferLimit *resource.Quantity `json:"socketBufferLimit,omitempty"`

	// Preconnect makes connections before requests need them.
	//
	// +optional
	Preconnect *Preconnect `json:"preconnect,omitempty"`
}

// Preconnect makes connections before requests need them.
type Preconnect struct {
	// PerEndpointPercent is how many connections each endpoint gets, as a percentage of those that its requests need.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	// +optional
	PerEndpointPercent *int32 `json:"perEndpointPercent,omitempty"`

	// PredictivePercent is how many connections all endpoints get, as a percentage of those that requests need. It has an effect with the
	// load balancers Random and RoundRobin.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	// +optional
	PredictivePercent *int32 `json:"predictivePercent,omitempty"`
}

// BackendDNS is how the hostname of an XBackend is resolved. It has no effect on other backends.
type BackendDNS struct {
	// DNSRefreshRate is how often a name is asked for, at least 1s. The default is 30s. With respectDnsTtl it is the shortest time.
	//
	// +optional
	DNSRefreshRate *gwv1.Duration `json:"dnsRefreshRate,omitempty"`

	// RespectDNSTTL asks for a name when its records are no longer valid. The default is true.
	//
	// +optional
	RespectDNSTTL *bool `json:"respectDnsTtl,omitempty"`

	// LookupFamily is which addresses of a name are used. The default follows the families of the cluster.
	//
	// +optional
	LookupFamily *DNSLookupFamily `json:"lookupFamily,omitempty"`
}

// DNSLookupFamily is which addresses of a name are used.
//
// +kubebuilder:validation:Enum=IPv4;IPv6;IPv4Preferred;IPv6Preferred;IPv4AndIPv6
type DNSLookupFamily string

// The families of addresses.
const (
	DNSLookupIPv4          DNSLookupFamily = "IPv4"
	DNSLookupIPv6          DNSLookupFamily = "IPv6"
	DNSLookupIPv4Preferred DNSLookupFamily = "IPv4Preferred"
	DNSLookupIPv6Preferred DNSLookupFamily = "IPv6Preferred"
	DNSLookupBoth          DNSLookupFamily = "IPv4AndIPv6"
)

// BackendProxyProtocol tells a backend the address of the client.
type BackendProxyProtocol struct {
	// Version of the PROXY protocol.
	//
	// +required
	Version ProxyProtocolVersion `json:"version"`
}

// ProxyProtocolVersion is a version of the PROXY protocol.
//
// +kubebuilder:validation:Enum=V1;V2
type ProxyProtocolVersion string

// The versions of the PROXY protocol.
const (
	ProxyProtocolV1 ProxyProtocolVersion = "V1"
	ProxyProtocolV2 ProxyProtocolVersion = "V2"
)
