package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ClientHTTP1 are the settings of HTTP/1.
type ClientHTTP1 struct {
	// EnableTrailers forwards trailers.
	//
	// +optional
	EnableTrailers *bool `json:"enableTrailers,omitempty"`

	// PreserveHeaderCase keeps upper case letters in names of headers, in requests and responses. By default they become lower case.
	//
	// +optional
	PreserveHeaderCase *bool `json:"preserveHeaderCase,omitempty"`

	// HTTP10 changes how HTTP/1.0 is served.
	//
	// +optional
	HTTP10 *HTTP10 `json:"http10,omitempty"`

	// DisableSafeMaxConnectionDuration closes a connection soon after its maxConnectionDuration. By default the next request on it is
	// still answered, with `Connection: close`.
	//
	// +optional
	DisableSafeMaxConnectionDuration *bool `json:"disableSafeMaxConnectionDuration,omitempty"`

	// IgnoredUpgradeTypes are values of the Upgrade header that are ignored: the request is served as if it had none. Upgrades that no
	// route allows are rejected otherwise. `TLS/` is always ignored.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	IgnoredUpgradeTypes []StringMatch `json:"ignoredUpgradeTypes,omitempty"`
}

// HTTP10 serves HTTP/1.0.
type HTTP10 struct {
	// UseDefaultHost gives requests without a Host header the hostname of the listener, which must be an exact one.
	//
	// +optional
	UseDefaultHost *bool `json:"useDefaultHost,omitempty"`
}

// InvalidMessageAction is what happens to a message that violates HTTP/2.
//
// +kubebuilder:validation:Enum=TerminateConnection;TerminateStream
type InvalidMessageAction string

// The actions for invalid messages.
const (
	TerminateConnection InvalidMessageAction = "TerminateConnection"
	TerminateStream     InvalidMessageAction = "TerminateStream"
)

// HTTP2Settings are the settings of HTTP/2.
type HTTP2Settings struct {
	// InitialStreamWindowSize is how many bytes of a stream may be sent without an update, from 64Ki-1 to 2Gi-1.
	//
	// +optional
	InitialStreamWindowSize *resource.Quantity `json:"initialStreamWindowSize,omitempty"`

	// InitialConnectionWindowSize is the same for all streams of a connection together.
	//
	// +optional
	InitialConnectionWindowSize *resource.Quantity `json:"initialConnectionWindowSize,omitempty"`

	// MaxConcurrentStreams is how many requests a connection may have under way.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	MaxConcurrentStreams *int64 `json:"maxConcurrentStreams,omitempty"`

	// OnInvalidMessage is what happens to a message that violates HTTP/2. The default is TerminateStream.
	//
	// +optional
	OnInvalidMessage *InvalidMessageAction `json:"onInvalidMessage,omitempty"`

	// ConnectionKeepalive sends PING frames and closes a connection that does not answer them.
	//
	// +optional
	ConnectionKeepalive *HTTP2Keepalive `json:"connectionKeepalive,omitempty"`
}

// HTTP2Keepalive sends PING frames.
type HTTP2Keepalive struct {
	// Interval is the time between PING frames.
	//
	// +optional
	Interval *gwv1.Duration `json:"interval,omitempty"`

	// Timeout is how long an answer may take. The default is 10s.
	//
	// +optional
	Timeout *gwv1.Duration `json:"timeout,omitempty"`

	// IntervalJitter is a percentage of the interval by which it varies at random. The default is 15.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	IntervalJitter *int32 `json:"intervalJitter,omitempty"`

	// IdleInterval sends a PING frame before the next request of a connection that was idle for longer.
	//
	// +optional
	IdleInterval *gwv1.Duration `json:"idleInterval,omitempty"`
}

// ClientGRPC are the settings of gRPC.
type ClientGRPC struct {
	// EnableWeb translates gRPC-Web. By default it is translated for hosts with GRPCRoutes.
	//
	// +optional
	EnableWeb *bool `json:"enableWeb,omitempty"`
}

// ListenerHealthCheck answers health checks of load balancers.
type ListenerHealthCheck struct {
	// Path is the exact path.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^?#\s]*$`
	// +required
	Path string `json:"path"`
}

// SchemeHeader is what backends see as the scheme of a request.
//
// +kubebuilder:validation:Enum=Preserve;MatchBackend
type SchemeHeader string

// The schemes that backends see.
const (
	// SchemePreserve is the scheme by which the client sent the request.
	SchemePreserve SchemeHeader = "Preserve"
	// SchemeMatchBackend is https where the connection to the backend has TLS, and http elsewhere.
	SchemeMatchBackend SchemeHeader = "MatchBackend"
)

// StringMatchType is how a text is compared.
//
// +kubebuilder:validation:Enum=Exact;Prefix;Suffix;RegularExpression
type StringMatchType string

// The ways to compare.
const (
	StringMatchExact             StringMatchType = "Exact"
	StringMatchPrefix            StringMatchType = "Prefix"
	StringMatchSuffix            StringMatchType = "Suffix"
	StringMatchRegularExpression StringMatchType = "RegularExpression"
)

// StringMatch compares a text.
type StringMatch struct {
	// Type is how it is compared. The default is Exact. A regular expression, in RE2 syntax, must match the whole text.
	//
	// +kubebuilder:default=Exact
	// +optional
	Type *StringMatchType `json:"type,omitempty"`

	// Value is what it is compared with.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Value string `json:"value"`
}

// HTTP3Settings serve HTTP/3. It has no fields.
type HTTP3Settings struct{}
