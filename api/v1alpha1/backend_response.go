package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// BandwidthLimit bounds how many bytes of bodies pass in a time, for all requests that share the setting, in each proxy.
//
// +kubebuilder:validation:XValidation:rule="has(self.request) || has(self.response)",message="set request or response"
type BandwidthLimit struct {
	// Request is for bodies that are sent to backends.
	//
	// +optional
	Request *RequestBandwidth `json:"request,omitempty"`

	// Response is for bodies that backends send.
	//
	// +optional
	Response *ResponseBandwidth `json:"response,omitempty"`
}

// RequestBandwidth bounds the bodies of requests.
type RequestBandwidth struct {
	// Limit is how many bytes pass.
	//
	// +required
	Limit Bandwidth `json:"limit"`
}

// ResponseBandwidth bounds the bodies of responses.
type ResponseBandwidth struct {
	// Limit is how many bytes pass.
	//
	// +required
	Limit Bandwidth `json:"limit"`

	// ResponseTrailers adds trailers to responses that tell by how much they were delayed.
	//
	// +optional
	ResponseTrailers *BandwidthTrailers `json:"responseTrailers,omitempty"`
}

// Bandwidth is a number of bytes in a time.
type Bandwidth struct {
	// Value is a number of bytes, such as 100Ki. Envoy counts whole KiB in each second: less than 1Ki for each second becomes 1Ki.
	//
	// +required
	Value resource.Quantity `json:"value"`

	// Unit is the unit of time.
	//
	// +kubebuilder:validation:Enum=Second;Minute;Hour
	// +required
	Unit string `json:"unit"`
}

// BandwidthTrailers are the trailers of a response that was delayed.
type BandwidthTrailers struct {
	// Prefix stands before the names of the trailers. With x-edge they are x-edge-bandwidth-response-delay-ms and so on. The default is
	// none.
	//
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+.^_|~-]*$`
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Prefix *string `json:"prefix,omitempty"`
}

// AdmissionControl rejects a part of the requests with 503 while many of them fail, so that a backend can recover. Each proxy decides for
// itself, for all requests that share the setting.
type AdmissionControl struct {
	// SamplingWindow is the time over which requests are counted, at least 1s. The default is 30s.
	//
	// +optional
	SamplingWindow *gwv1.Duration `json:"samplingWindow,omitempty"`

	// MinSuccessRate is the part of requests, in percent, that must succeed for none to be rejected. The default is 95.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MinSuccessRate *int32 `json:"minSuccessRate,omitempty"`

	// RejectionAggression is how steeply rejections rise as the success rate falls. 1 is linear. The default is 1.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	RejectionAggression *int32 `json:"rejectionAggression,omitempty"`

	// MinRequestRate is the number of requests in each second below which none is rejected. The default is 0.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinRequestRate *int32 `json:"minRequestRate,omitempty"`

	// MaxRejectionPercent is the largest part of requests, in percent, that is rejected. The default is 80.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxRejectionPercent *int32 `json:"maxRejectionPercent,omitempty"`

	// SuccessCriteria is what counts as success. The default is a status from 100 to 499, and for gRPC each code but Aborted, DataLoss,
	// DeadlineExceeded, Internal, ResourceExhausted and Unavailable.
	//
	// +optional
	SuccessCriteria *SuccessCriteria `json:"successCriteria,omitempty"`
}

// SuccessCriteria is what counts as success.
type SuccessCriteria struct {
	// HTTP is for requests that are not gRPC.
	//
	// +optional
	HTTP *HTTPSuccess `json:"http,omitempty"`

	// GRPC is for requests of gRPC.
	//
	// +optional
	GRPC *GRPCSuccess `json:"grpc,omitempty"`
}

// HTTPSuccess is which statuses are a success.
type HTTPSuccess struct {
	// StatusCodes are a success, and no others.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	StatusCodes []HTTPStatus `json:"statusCodes,omitempty"`
}

// GRPCSuccess is which codes are a success.
type GRPCSuccess struct {
	// StatusCodes are a success, and no others.
	//
	// +kubebuilder:validation:MaxItems=17
	// +listType=set
	// +optional
	StatusCodes []GRPCCode `json:"statusCodes,omitempty"`
}

// GRPCCode is a status code of gRPC.
//
// +kubebuilder:validation:Enum=Ok;Cancelled;Unknown;InvalidArgument;DeadlineExceeded;NotFound;AlreadyExists;PermissionDenied;ResourceExhausted;FailedPrecondition;Aborted;OutOfRange;Unimplemented;Internal;Unavailable;DataLoss;Unauthenticated
type GRPCCode string

// ResponseOverride replaces responses. Of several the first that matches is used.
//
// +kubebuilder:validation:XValidation:rule="has(self.response) != has(self.redirect)",message="set either response or redirect"
type ResponseOverride struct {
	// Match is which responses are replaced.
	//
	// +required
	Match ResponseMatch `json:"match"`

	// Response is what clients get instead.
	//
	// +optional
	Response *OverridingResponse `json:"response,omitempty"`

	// Redirect sends clients elsewhere instead.
	//
	// +optional
	Redirect *OverridingRedirect `json:"redirect,omitempty"`

	// Source is whose responses are replaced: Local for those of the proxy, such as 429 and 503, Backend for those of backends, All for
	// both. The default is All.
	//
	// +kubebuilder:validation:Enum=All;Local;Backend
	// +optional
	Source *string `json:"source,omitempty"`
}

// ResponseMatch is which responses are replaced: those with one of the statuses and with all headers.
//
// +kubebuilder:validation:XValidation:rule="has(self.statusCodes) || has(self.responseHeaders)",message="set statusCodes or responseHeaders"
type ResponseMatch struct {
	// StatusCodes of which one must match.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	StatusCodes []StatusCodeMatch `json:"statusCodes,omitempty"`

	// ResponseHeaders that all must match.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	ResponseHeaders []ResponseHeaderMatch `json:"responseHeaders,omitempty"`
}

// StatusCodeMatch is one status, or a range of them.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Range') ? has(self.range) && !has(self.value) : has(self.value) && !has(self.range)",message="type Value needs value, and type Range needs range with start and end; set no other"
type StatusCodeMatch struct {
	// Type is Value or Range. The default is Value.
	//
	// +kubebuilder:validation:Enum=Value;Range
	// +optional
	Type *string `json:"type,omitempty"`

	// Value is a status.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=599
	// +optional
	Value *int32 `json:"value,omitempty"`

	// Range is a range of statuses.
	//
	// +optional
	Range *StatusCodeRange `json:"range,omitempty"`
}

// StatusCodeRange is a range of statuses.
//
// +kubebuilder:validation:XValidation:rule="self.end > self.start",message="end must be greater than start"
type StatusCodeRange struct {
	// Start is the first status.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=599
	// +required
	Start int32 `json:"start"`

	// End is the last status.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=599
	// +required
	End int32 `json:"end"`
}

// ResponseHeaderMatch is a header that a response must have.
type ResponseHeaderMatch struct {
	// Name of the header.
	//
	// +required
	Name gwv1.HTTPHeaderName `json:"name"`

	// Value of the header.
	//
	// +required
	Value StringMatch `json:"value"`
}

// OverridingResponse is what clients get.
type OverridingResponse struct {
	// ContentType is the Content-Type header. The default is text/plain, if there is a body.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	ContentType *string `json:"contentType,omitempty"`

	// Body may have variables, such as %REQ(x-request-id)%. The default is none.
	//
	// +optional
	Body *DirectResponseBody `json:"body,omitempty"`

	// StatusCode is the status. The default is that of the response that is replaced.
	//
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	// +optional
	StatusCode *int32 `json:"statusCode,omitempty"`

	// Header sets and adds headers. Values may have variables. Of the response that is replaced nothing is left to remove.
	//
	// +kubebuilder:validation:XValidation:rule="!has(self.remove) || size(self.remove) == 0",message="nothing is left of the response that is replaced; use set and add"
	// +optional
	Header *gwv1.HTTPHeaderFilter `json:"header,omitempty"`
}

// OverridingRedirect is the Location that clients are sent to.
type OverridingRedirect struct {
	// Scheme of the Location. The default is that of the request.
	//
	// +kubebuilder:validation:Enum=http;https
	// +optional
	Scheme *string `json:"scheme,omitempty"`

	// Hostname of the Location. The default is that of the request, with its port.
	//
	// +optional
	Hostname *gwv1.PreciseHostname `json:"hostname,omitempty"`

	// Path of the Location. The default is that of the request, with its query.
	//
	// +kubebuilder:validation:XValidation:rule="self.type == 'ReplaceFullPath'",message="only ReplaceFullPath is served for path.type"
	// +optional
	Path *gwv1.HTTPPathModifier `json:"path,omitempty"`

	// Port of the Location, with hostname. The default is that of the scheme.
	//
	// +optional
	Port *gwv1.PortNumber `json:"port,omitempty"`

	// StatusCode is 301 or 302. The default is 302.
	//
	// +kubebuilder:validation:Enum=301;302
	// +optional
	StatusCode *int32 `json:"statusCode,omitempty"`
}

// HTTPUpgrade is a protocol that a connection may change to.
//
// +kubebuilder:validation:XValidation:rule="self.type.upperAscii() != 'CONNECT'",message="CONNECT is not served: clients would choose where proxies connect to"
type HTTPUpgrade struct {
	// Type is the protocol, as in the Upgrade header, such as spdy/3.1. WebSockets need no entry.
	//
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$&'*+.^_|~/-]+$`
	// +kubebuilder:validation:MaxLength=64
	// +required
	Type string `json:"type"`
}

// BackendTelemetry is what is recorded of requests.
type BackendTelemetry struct {
	// Tracing changes what XTelemetryPolicy sets for the Gateway. It has no effect where that records no spans.
	//
	// +optional
	Tracing *BackendTracing `json:"tracing,omitempty"`

	// Metrics are statistics of proxies.
	//
	// +optional
	Metrics *BackendMetrics `json:"metrics,omitempty"`
}

// BackendMetrics are statistics of proxies.
type BackendMetrics struct {
	// RouteStatName has proxies keep statistics of the requests of a rule, by that name. It may have the variables %ROUTE_NAME%,
	// %ROUTE_NAMESPACE% and %ROUTE_KIND%.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	RouteStatName *string `json:"routeStatName,omitempty"`
}

// BackendTracing is which requests become spans, and what these say.
type BackendTracing struct {
	// SamplingFraction is the part of requests that become spans, if no decision was made before.
	//
	// +optional
	SamplingFraction *gwv1.Fraction `json:"samplingFraction,omitempty"`

	// ClientSamplingFraction is the part of requests that become spans because the client asks for it.
	//
	// +optional
	ClientSamplingFraction *gwv1.Fraction `json:"clientSamplingFraction,omitempty"`

	// OverallSamplingFraction bounds the part of requests that become spans for any reason.
	//
	// +optional
	OverallSamplingFraction *gwv1.Fraction `json:"overallSamplingFraction,omitempty"`

	// CustomTags are attributes of spans, by their name.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	CustomTags map[string]CustomTag `json:"customTags,omitempty"`

	// Tags are attributes of spans, by their name. Values may have variables, such as %REQ(x-tenant)%.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// SpanName is what spans are called. Names may have variables.
	//
	// +optional
	SpanName *SpanName `json:"spanName,omitempty"`
}

// CustomTag is an attribute of spans. Environment variables of proxies are not offered.
//
// +kubebuilder:validation:XValidation:rule="has(self.literal) != has(self.requestHeader)",message="set either literal or requestHeader, with the type of it; environment variables of proxies are not offered"
type CustomTag struct {
	// Type is Literal or RequestHeader. It can be left out.
	//
	// +kubebuilder:validation:Enum=Literal;RequestHeader
	// +optional
	Type *string `json:"type,omitempty"`

	// Literal is the same for all requests.
	//
	// +optional
	Literal *LiteralTag `json:"literal,omitempty"`

	// RequestHeader is a header of the request.
	//
	// +optional
	RequestHeader *RequestHeaderTag `json:"requestHeader,omitempty"`
}

// LiteralTag is a value.
type LiteralTag struct {
	// Value of the attribute.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Value string `json:"value"`
}

// RequestHeaderTag is a header of a request.
type RequestHeaderTag struct {
	// Name of the header.
	//
	// +required
	Name gwv1.HTTPHeaderName `json:"name"`

	// DefaultValue is used where a request has no such header. The default is to leave out the attribute.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	DefaultValue *string `json:"defaultValue,omitempty"`
}

// SpanName is what spans are called.
type SpanName struct {
	// Client is the name of the span for a request to a backend.
	//
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Client *string `json:"client,omitempty"`

	// Server is the name of the span for a request of a client.
	//
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Server *string `json:"server,omitempty"`
}

// RateLimitCost is how much a request counts.
type RateLimitCost struct {
	// Request is what counts when a request arrives. The default is 1.
	//
	// +optional
	Request *RateLimitCostValue `json:"request,omitempty"`

	// Response is what counts in addition when the response is complete. It counts for the requests that follow: this one has passed. It is
	// for global limits, and has no default.
	//
	// +optional
	Response *RateLimitCostValue `json:"response,omitempty"`
}

// RateLimitCostValue is a number, or where it comes from.
//
// +kubebuilder:validation:XValidation:rule="self.from == 'Number' ? has(self.number) && !has(self.metadata) : has(self.metadata) && !has(self.number)",message="from Number needs number, and from Metadata needs metadata; set no other"
type RateLimitCostValue struct {
	// From is Number or Metadata.
	//
	// +kubebuilder:validation:Enum=Number;Metadata
	// +required
	From string `json:"from"`

	// Number is how much a request counts. With 0 requests pass until something else has used up the limit.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Number *int64 `json:"number,omitempty"`

	// Metadata is dynamic metadata of a request, which a filter has written. Without a number from 0 to 1000000000 there, the rule neither
	// counts the request nor stops it.
	//
	// +optional
	Metadata *RateLimitMetadata `json:"metadata,omitempty"`
}

// RateLimitMetadata is a key of dynamic metadata.
type RateLimitMetadata struct {
	// Namespace of the metadata, often the name of the filter that writes it.
	//
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+$`
	// +kubebuilder:validation:MaxLength=128
	// +required
	Namespace string `json:"namespace"`

	// Key in the metadata.
	//
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+$`
	// +kubebuilder:validation:MaxLength=128
	// +required
	Key string `json:"key"`
}
