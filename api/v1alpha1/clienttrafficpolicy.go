package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ClientTrafficPolicy configures the connections between clients and the listeners of a Gateway.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories={gatewright,gateway-api},shortName=ctp
// +kubebuilder:metadata:labels="gateway.networking.k8s.io/policy=Inherited"
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetRefs[*].name`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClientTrafficPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the targets and the settings.
	//
	// +required
	Spec ClientTrafficPolicySpec `json:"spec"`

	// Status is what became of the policy.
	//
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// ClientTrafficPolicyList is a list of ClientTrafficPolicies.
//
// +kubebuilder:object:root=true
type ClientTrafficPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClientTrafficPolicy `json:"items"`
}

// ClientTrafficPolicySpec is the targets and the settings. Each field that the reference lists as a setting is merged as a whole.
//
// +kubebuilder:validation:XValidation:rule="has(self.targetRefs) || has(self.targetRef) || has(self.targetSelectors)",message="set targetRefs or targetSelectors"
type ClientTrafficPolicySpec struct {
	PolicyTargets `json:",inline"`

	// TCPKeepalive sends probes on idle connections of clients. Off by default. Changing it drains the connections of the port.
	//
	// +optional
	TCPKeepalive *TCPKeepalive `json:"tcpKeepalive,omitempty"`

	// ProxyProtocol expects the PROXY protocol, version 1 or 2, on every connection. The address there becomes the client's address.
	// All listeners of a port share this setting. Changing it drains the connections of the port.
	//
	// +optional
	ProxyProtocol *ProxyProtocol `json:"proxyProtocol,omitempty"`

	// HTTP3 serves HTTP/3 at the UDP port of the same number as well, and says so to clients by the header alt-svc. Listeners of HTTPS
	// have it. It has no effect where clients are asked for certificates, behind the PROXY protocol, on shared proxies, and with keys
	// other than RSA with 2048 bits or more and ECDSA P-256. Changing it drains the connections of the listener.
	//
	// +optional
	HTTP3 *HTTP3Settings `json:"http3,omitempty"`

	// ClientIPDetection says where the address of the client is found. The default is the address of the connection.
	//
	// +optional
	ClientIPDetection *ClientIPDetection `json:"clientIPDetection,omitempty"`

	// TLS are the settings of TLS that the listener terminates.
	//
	// +optional
	TLS *ClientTLS `json:"tls,omitempty"`

	// Path says how paths are normalized before a route is chosen.
	//
	// +optional
	Path *PathSettings `json:"path,omitempty"`

	// Headers says how headers of requests and responses are treated.
	//
	// +optional
	Headers *ClientHeaders `json:"headers,omitempty"`

	// Timeout are the timeouts of connections and requests of clients.
	//
	// +optional
	Timeout *ClientTimeout `json:"timeout,omitempty"`

	// Connection are limits of connections.
	//
	// +optional
	Connection *ClientConnection `json:"connection,omitempty"`

	// HTTP1 are the settings of HTTP/1.
	//
	// +optional
	HTTP1 *ClientHTTP1 `json:"http1,omitempty"`

	// HTTP2 are the settings of HTTP/2.
	//
	// +optional
	HTTP2 *HTTP2Settings `json:"http2,omitempty"`

	// GRPC are the settings of gRPC.
	//
	// +optional
	GRPC *ClientGRPC `json:"grpc,omitempty"`

	// HealthCheck answers 200 at a path of every host, while the proxy does not drain. No route sees these requests.
	//
	// +optional
	HealthCheck *ListenerHealthCheck `json:"healthCheck,omitempty"`

	// Scheme says what backends see as the scheme of a request. The default is Preserve.
	//
	// +optional
	Scheme *SchemeHeader `json:"scheme,omitempty"`
}

// TCPKeepalive sends probes on idle connections.
type TCPKeepalive struct {
	// Probes is how many probes may stay unanswered before the connection is closed. The default is the kernel's, 9.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=127
	// +optional
	Probes *int32 `json:"probes,omitempty"`

	// IdleTime is how long a connection is idle before the first probe. The default is the kernel's, 2h.
	//
	// +optional
	IdleTime *gwv1.Duration `json:"idleTime,omitempty"`

	// Interval is the time between probes. The default is the kernel's, 75s.
	//
	// +optional
	Interval *gwv1.Duration `json:"interval,omitempty"`
}

// ProxyProtocol expects the PROXY protocol.
type ProxyProtocol struct {
	// Optional also serves connections without it. Any client that connects directly can then claim any address: set it only if every
	// client is trusted. The default is false.
	//
	// +optional
	Optional *bool `json:"optional,omitempty"`
}

// ClientIPDetection says where the address of the client is found.
//
// +kubebuilder:validation:XValidation:rule="[has(self.xForwardedFor), has(self.customHeader), has(self.directSourceIP)].filter(x, x).size() == 1",message="set exactly one of xForwardedFor, customHeader and directSourceIP"
type ClientIPDetection struct {
	// XForwardedFor takes it from the X-Forwarded-For header that trusted proxies in front of the Gateway send.
	//
	// +optional
	XForwardedFor *XForwardedFor `json:"xForwardedFor,omitempty"`

	// CustomHeader takes it from another header.
	//
	// +optional
	CustomHeader *ClientIPHeader `json:"customHeader,omitempty"`

	// DirectSourceIP takes the address of the connection. It is the default, and can replace another setting of a less specific policy.
	//
	// +optional
	DirectSourceIP *DirectSourceIP `json:"directSourceIP,omitempty"`
}

// XForwardedFor takes the address of the client from the X-Forwarded-For header.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.numTrustedHops) && has(self.trustedCIDRs))",message="set one of numTrustedHops and trustedCIDRs"
type XForwardedFor struct {
	// NumTrustedHops is how many trusted proxies are in front of the Gateway. The client's address is that many entries from the right.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	// +optional
	NumTrustedHops *int32 `json:"numTrustedHops,omitempty"`

	// TrustedCIDRs are the addresses of trusted proxies. From the right, the first entry that is not among them is the client.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	TrustedCIDRs []CIDR `json:"trustedCIDRs,omitempty"`

	// DisableXForwardedForAppend sends the header to backends as it came, without the address of the connection.
	//
	// +optional
	DisableXForwardedForAppend *bool `json:"disableXForwardedForAppend,omitempty"`
}

// CIDR is a range of IP addresses, such as 10.0.0.0/8 or 2001:db8::/32.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="write a range of IP addresses, such as 10.0.0.0/8 or 2001:db8::/32"
type CIDR string

// ClientIPHeader takes the address of the client from a header.
type ClientIPHeader struct {
	// Name is the name of the header.
	//
	// +required
	Name gwv1.HTTPHeaderName `json:"name"`

	// FailClosed answers 403 where the header is missing or has no address. The default is false: the address of the connection is used.
	//
	// +optional
	FailClosed *bool `json:"failClosed,omitempty"`
}

// DirectSourceIP takes the address of the connection.
type DirectSourceIP struct{}

// EscapedSlashesAction is what happens to a path with %2F or %5C.
//
// +kubebuilder:validation:Enum=KeepUnchanged;RejectRequest;UnescapeAndRedirect;UnescapeAndForward
type EscapedSlashesAction string

// The actions for escaped slashes.
const (
	// KeepUnchanged forwards the path as it is.
	KeepUnchanged EscapedSlashesAction = "KeepUnchanged"
	// RejectRequest answers 400.
	RejectRequest EscapedSlashesAction = "RejectRequest"
	// UnescapeAndRedirect answers with a redirect to the path without them. A call of gRPC is rejected.
	UnescapeAndRedirect EscapedSlashesAction = "UnescapeAndRedirect"
	// UnescapeAndForward forwards the path without them.
	UnescapeAndForward EscapedSlashesAction = "UnescapeAndForward"
)

// PathSettings says how paths are normalized before a route is chosen.
type PathSettings struct {
	// EscapedSlashesAction is what happens to a path with %2F or %5C.
	//
	// +optional
	EscapedSlashesAction *EscapedSlashesAction `json:"escapedSlashesAction,omitempty"`

	// DisableMergeSlashes keeps several slashes in a row. By default they become one.
	//
	// +optional
	DisableMergeSlashes *bool `json:"disableMergeSlashes,omitempty"`
}

// ClientTimeout are the timeouts of connections and requests of clients.
type ClientTimeout struct {
	// TCP are the timeouts of connections.
	//
	// +optional
	TCP *ClientTCPTimeout `json:"tcp,omitempty"`

	// HTTP are the timeouts of requests.
	//
	// +optional
	HTTP *ClientHTTPTimeout `json:"http,omitempty"`
}

// ClientTCPTimeout are the timeouts of connections. A timeout of 0s turns it off.
type ClientTCPTimeout struct {
	// IdleTimeout closes a connection of a TCP or TLS listener on which no bytes are sent. The default is 1h.
	//
	// +optional
	IdleTimeout *gwv1.Duration `json:"idleTimeout,omitempty"`

	// TLSHandshakeTimeout closes a connection whose TLS handshake takes longer.
	//
	// +optional
	TLSHandshakeTimeout *gwv1.Duration `json:"tlsHandshakeTimeout,omitempty"`

	// ConnectionInspectionTimeout closes a connection that does not send its PROXY protocol header or TLS ClientHello in time.
	// All listeners of a port share this setting. Changing it drains the connections of the port.
	//
	// +optional
	ConnectionInspectionTimeout *gwv1.Duration `json:"connectionInspectionTimeout,omitempty"`
}

// ClientHTTPTimeout are the timeouts of requests. A timeout of 0s turns it off.
type ClientHTTPTimeout struct {
	// RequestReceivedTimeout answers 408 if the request is not received as a whole in this time.
	//
	// +optional
	RequestReceivedTimeout *gwv1.Duration `json:"requestReceivedTimeout,omitempty"`

	// RequestHeadersReceivedTimeout answers 408 if the headers of a request are not received in this time.
	//
	// +optional
	RequestHeadersReceivedTimeout *gwv1.Duration `json:"requestHeadersReceivedTimeout,omitempty"`

	// IdleTimeout closes a connection without requests.
	//
	// +optional
	IdleTimeout *gwv1.Duration `json:"idleTimeout,omitempty"`

	// StreamIdleTimeout ends a request on which neither side sends anything.
	//
	// +optional
	StreamIdleTimeout *gwv1.Duration `json:"streamIdleTimeout,omitempty"`
}

// ClientConnection are limits of connections.
type ClientConnection struct {
	// ConnectionLimit bounds connections.
	//
	// +optional
	ConnectionLimit *ConnectionLimit `json:"connectionLimit,omitempty"`

	// BufferLimit is how many bytes are buffered for each connection. All listeners of a port share this setting. Changing it drains the
	// connections of the port.
	//
	// +optional
	BufferLimit *resource.Quantity `json:"bufferLimit,omitempty"`

	// SocketBufferLimit is the size of the kernel's receive and send buffers of a connection.
	//
	// +optional
	SocketBufferLimit *resource.Quantity `json:"socketBufferLimit,omitempty"`

	// MaxAcceptPerSocketEvent is how many connections are accepted at a time. The default is 1; 0 is no limit.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxAcceptPerSocketEvent *int32 `json:"maxAcceptPerSocketEvent,omitempty"`
}

// ConnectionLimit bounds connections.
//
// +kubebuilder:validation:XValidation:rule="!has(self.closeDelay) || has(self.value)",message="closeDelay needs value"
type ConnectionLimit struct {
	// Value is how many connections each proxy has open at a time, for each listener. More are closed.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Value *int64 `json:"value,omitempty"`

	// CloseDelay is how long a connection beyond the limit stays open before it is closed. The default is 0s.
	//
	// +optional
	CloseDelay *gwv1.Duration `json:"closeDelay,omitempty"`

	// MaxConnectionDuration drains a connection of HTTP after this time.
	//
	// +optional
	MaxConnectionDuration *gwv1.Duration `json:"maxConnectionDuration,omitempty"`

	// MaxRequestsPerConnection drains a connection of HTTP after as many requests.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxRequestsPerConnection *int32 `json:"maxRequestsPerConnection,omitempty"`

	// MaxStreamDuration ends a request after this time, from its first byte on.
	//
	// +optional
	MaxStreamDuration *gwv1.Duration `json:"maxStreamDuration,omitempty"`
}
