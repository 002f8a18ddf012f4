package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// BackendTrafficPolicy configures how requests are handled on their way to backends, and the connections to backends.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories={gatewright,gateway-api},shortName=btp
// +kubebuilder:metadata:labels="gateway.networking.k8s.io/policy=Inherited"
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetRefs[*].name`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BackendTrafficPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the targets and the settings.
	//
	// +required
	Spec BackendTrafficPolicySpec `json:"spec"`

	// Status is what became of the policy.
	//
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// BackendTrafficPolicyList is a list of BackendTrafficPolicies.
//
// +kubebuilder:object:root=true
type BackendTrafficPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BackendTrafficPolicy `json:"items"`
}

// BackendTrafficPolicySpec is the targets and the settings. Each field that the reference lists as a setting is merged as a whole.
//
// +kubebuilder:validation:XValidation:rule="has(self.targetRefs) || has(self.targetRef) || has(self.targetSelectors)",message="set targetRefs or targetSelectors"
// +kubebuilder:validation:XValidation:rule="!has(self.compression) || !has(self.compressor)",message="set one of compression and compressor"
type BackendTrafficPolicySpec struct {
	PolicyTargets `json:",inline"`

	// Timeout are the timeouts of requests, and of connections to backends.
	//
	// +optional
	Timeout *BackendTimeout `json:"timeout,omitempty"`

	// Retry says when a request is sent again. By default it is sent up to twice more, to another endpoint, if no backend can have processed
	// it. The retry of a rule of an HTTPRoute wins over it.
	//
	// +optional
	Retry *BackendRetry `json:"retry,omitempty"`

	// RateLimit bounds how many requests pass.
	//
	// +optional
	RateLimit *RateLimit `json:"rateLimit,omitempty"`

	// FaultInjection delays or aborts a part of the requests.
	//
	// +optional
	FaultInjection *FaultInjection `json:"faultInjection,omitempty"`

	// Compression is an older name of compressor.
	//
	// +kubebuilder:validation:MaxItems=3
	// +listType=map
	// +listMapKey=type
	// +optional
	Compression []Compression `json:"compression,omitempty"`

	// Compressor compresses responses for clients that accept it. The first is preferred.
	//
	// +kubebuilder:validation:MaxItems=3
	// +listType=map
	// +listMapKey=type
	// +optional
	Compressor []Compression `json:"compressor,omitempty"`

	// RequestBuffer receives a request as a whole before it is sent to a backend.
	//
	// +optional
	RequestBuffer *RequestBuffer `json:"requestBuffer,omitempty"`

	// BandwidthLimit bounds how many bytes of bodies pass.
	//
	// +optional
	BandwidthLimit *BandwidthLimit `json:"bandwidthLimit,omitempty"`

	// AdmissionControl rejects a part of the requests while many of them fail.
	//
	// +optional
	AdmissionControl *AdmissionControl `json:"admissionControl,omitempty"`

	// ResponseOverride replaces responses. The first that matches is used.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	ResponseOverride []ResponseOverride `json:"responseOverride,omitempty"`

	// HTTPUpgrade are protocols that a connection may change to, beside WebSockets.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	HTTPUpgrade []HTTPUpgrade `json:"httpUpgrade,omitempty"`

	// Telemetry is what is recorded of requests.
	//
	// +optional
	Telemetry *BackendTelemetry `json:"telemetry,omitempty"`

	// LoadBalancer chooses an endpoint of a backend. The default is LeastRequest.
	//
	// +optional
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`

	// HealthCheck says which endpoints get requests. Kubernetes' own readiness counts as well.
	//
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`

	// CircuitBreaker bounds what each proxy may have open to a backend.
	//
	// +optional
	CircuitBreaker *CircuitBreaker `json:"circuitBreaker,omitempty"`

	// Connection are the buffers of connections to a backend, and connections that are made ahead of time.
	//
	// +optional
	Connection *BackendConnection `json:"connection,omitempty"`

	// HTTP2 are the settings of HTTP/2. They have an effect on backends that speak it.
	//
	// +optional
	HTTP2 *HTTP2Settings `json:"http2,omitempty"`

	// TCPKeepalive sends probes on idle connections to a backend. By default the first is sent after 30s.
	//
	// +optional
	TCPKeepalive *TCPKeepalive `json:"tcpKeepalive,omitempty"`

	// ProxyProtocol tells a backend the address of the client.
	//
	// +optional
	ProxyProtocol *BackendProxyProtocol `json:"proxyProtocol,omitempty"`

	// DNS is how the hostname of an XBackend is resolved.
	//
	// +optional
	DNS *BackendDNS `json:"dns,omitempty"`

	// UseClientProtocol speaks to a backend the version of HTTP that the client speaks. The default is false.
	//
	// +optional
	UseClientProtocol *bool `json:"useClientProtocol,omitempty"`

	// RoutingType Endpoint sends requests to endpoints, which is always so.
	//
	// +kubebuilder:validation:XValidation:rule="self == 'Endpoint'",message="requests always go to endpoints; remove the field"
	// +optional
	RoutingType *string `json:"routingType,omitempty"`

	// MergeType is that of Envoy Gateway. Settings are always merged, one by one, so StrategicMerge and JSONMerge have no effect.
	//
	// +kubebuilder:validation:XValidation:rule="self in ['StrategicMerge', 'JSONMerge']",message="settings are always merged, one by one; remove the field, or repeat here what is to be replaced"
	// +optional
	MergeType *string `json:"mergeType,omitempty"`
}

// BackendTimeout are the timeouts of requests, and of connections to backends.
type BackendTimeout struct {
	// TCP are the timeouts of connections.
	//
	// +optional
	TCP *BackendTCPTimeout `json:"tcp,omitempty"`

	// HTTP are the timeouts of requests, and of connections of HTTP.
	//
	// +optional
	HTTP *BackendHTTPTimeout `json:"http,omitempty"`
}

// BackendTCPTimeout are the timeouts of connections.
type BackendTCPTimeout struct {
	// ConnectTimeout is how long it may take to connect to an endpoint, with its TLS handshake. The default is 2s, and 5s with TLS or outside
	// the cluster.
	//
	// +optional
	ConnectTimeout *gwv1.Duration `json:"connectTimeout,omitempty"`
}

// BackendHTTPTimeout are the timeouts of requests, and of connections of HTTP. A timeout of 0s turns it off.
type BackendHTTPTimeout struct {
	// ConnectionIdleTimeout closes a connection to a backend that has no requests. The default is 1m.
	//
	// +optional
	ConnectionIdleTimeout *gwv1.Duration `json:"connectionIdleTimeout,omitempty"`

	// MaxConnectionDuration closes a connection to a backend that is older, once its requests are answered. There is none by default.
	//
	// +optional
	MaxConnectionDuration *gwv1.Duration `json:"maxConnectionDuration,omitempty"`

	// RequestTimeout answers 504 if a response is not there as a whole in this time. There is none by default. The timeouts.request of a rule
	// of an HTTPRoute wins over it.
	//
	// +optional
	RequestTimeout *gwv1.Duration `json:"requestTimeout,omitempty"`

	// MaxStreamDuration ends a request that takes longer, from its first byte to the last byte of its response. There is none by default.
	//
	// +optional
	MaxStreamDuration *gwv1.Duration `json:"maxStreamDuration,omitempty"`

	// StreamIdleTimeout ends a request on which neither side sends anything. The default is that of the listener, 5m, and 1h for gRPC and
	// WebSockets.
	//
	// +optional
	StreamIdleTimeout *gwv1.Duration `json:"streamIdleTimeout,omitempty"`
}

// BackendRetry says when a request is sent again.
type BackendRetry struct {
	// NumRetries is how often a request is sent again. The default is 2.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=2
	// +optional
	NumRetries *int32 `json:"numRetries,omitempty"`

	// NumAttemptsPerPriority is how often a request is sent to endpoints of one priority before those of the next one get it. By default all
	// attempts are for the highest priority that is healthy.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	NumAttemptsPerPriority *int32 `json:"numAttemptsPerPriority,omitempty"`

	// RetryOn is what a request is sent again for. The default are the triggers connect-failure, refused-stream, unavailable, cancelled and
	// retriable-status-codes with 503.
	//
	// +optional
	RetryOn *RetryOn `json:"retryOn,omitempty"`

	// PerRetry is about each attempt.
	//
	// +optional
	PerRetry *PerRetry `json:"perRetry,omitempty"`
}

// RetryOn is what a request is sent again for.
type RetryOn struct {
	// Triggers are the causes for another attempt, as Envoy names them.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Triggers []RetryTrigger `json:"triggers,omitempty"`

	// HTTPStatusCodes are statuses for which a request is sent again as well, whether or not retriable-status-codes is among triggers.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	HTTPStatusCodes []HTTPStatus `json:"httpStatusCodes,omitempty"`
}

// RetryTrigger is a cause for another attempt.
//
// +kubebuilder:validation:Enum="5xx";"gateway-error";"reset";"reset-before-request";"connect-failure";"retriable-4xx";"refused-stream";"retriable-status-codes";"cancelled";"deadline-exceeded";"internal";"resource-exhausted";"unavailable"
type RetryTrigger string

// HTTPStatus is the status code of a response.
//
// +kubebuilder:validation:Minimum=100
// +kubebuilder:validation:Maximum=599
type HTTPStatus int32

// PerRetry is about each attempt.
type PerRetry struct {
	// Timeout bounds one attempt. The timeouts.backendRequest of a rule of an HTTPRoute wins over it.
	//
	// +optional
	Timeout *gwv1.Duration `json:"timeout,omitempty"`

	// BackOff is the wait before another attempt. It grows, and has a random part.
	//
	// +optional
	BackOff *BackOff `json:"backOff,omitempty"`
}

// BackOff is the wait before another attempt.
type BackOff struct {
	// BaseInterval is the first wait, at least 1ms. The default is 25ms.
	//
	// +optional
	BaseInterval *gwv1.Duration `json:"baseInterval,omitempty"`

	// MaxInterval is the longest wait. The default is ten times the first one.
	//
	// +optional
	MaxInterval *gwv1.Duration `json:"maxInterval,omitempty"`
}
