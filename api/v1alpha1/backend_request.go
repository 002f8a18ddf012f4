package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// RateLimit bounds how many requests pass. Requests beyond it are answered 429. Both limits can be set; then both count.
type RateLimit struct {
	// Type is Local or Global. It can be left out: what is set counts.
	//
	// +kubebuilder:validation:Enum=Local;Global
	// +optional
	Type *string `json:"type,omitempty"`

	// Local counts in each proxy by itself: with three proxies, three times as many requests pass.
	//
	// +optional
	Local *LocalRateLimit `json:"local,omitempty"`

	// Global counts the requests of all proxies together, in the rate limit service. The operator has to enable it (rateLimit.enabled of the
	// chart). Until then requests are answered with an error.
	//
	// +optional
	Global *GlobalRateLimit `json:"global,omitempty"`
}

// LocalRateLimit counts in each proxy by itself.
type LocalRateLimit struct {
	// Rules are limits. The one without clientSelectors is for requests that no other rule is about.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.filter(r, !has(r.clientSelectors) || size(r.clientSelectors) == 0).size() <= 1",message="only one rule can be without clientSelectors"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !has(r.shared) || !r.shared)",message="shared is for global limits; remove it"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !has(r.cost) || !has(r.cost.response))",message="cost.response is for global limits; remove it"
	// +listType=atomic
	// +required
	Rules []RateLimitRule `json:"rules"`
}

// GlobalRateLimit counts the requests of all proxies together.
type GlobalRateLimit struct {
	// Rules are limits. A request counts for every rule that is about it, and passes if all of them let it pass. A rule without
	// clientSelectors is about all requests.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +required
	Rules []RateLimitRule `json:"rules"`

	// FailOpen lets requests pass while the rate limit service gives no answer. By default they are answered 503.
	//
	// +optional
	FailOpen *bool `json:"failOpen,omitempty"`
}

// RateLimitRule is a limit.
type RateLimitRule struct {
	// ClientSelectors are the requests that the limit is for: those that all of them select.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	ClientSelectors []RateLimitSelector `json:"clientSelectors,omitempty"`

	// Limit is how many requests pass.
	//
	// +required
	Limit RateLimitValue `json:"limit"`

	// Cost is how much a request counts. A local limit takes it for rules with clientSelectors.
	//
	// +optional
	Cost *RateLimitCost `json:"cost,omitempty"`

	// XRateLimitHeaders DraftVersion03 adds the headers X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset to responses to the
	// requests that the rule is about. The default is Off.
	//
	// +kubebuilder:validation:Enum=Off;DraftVersion03
	// +optional
	XRateLimitHeaders *string `json:"xRateLimitHeaders,omitempty"`

	// Shared counts the requests of all routes that the policy applies to together. By default each route has a limit of its own. It is for
	// global limits.
	//
	// +optional
	Shared *bool `json:"shared,omitempty"`

	// ShadowMode counts, and lets all requests pass. A local limit takes it for rules with clientSelectors.
	//
	// +optional
	ShadowMode *bool `json:"shadowMode,omitempty"`
}

// RateLimitValue is how many requests pass.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fromMetadata)",message="limit.fromMetadata is not served: metadata with a unit that is not known stops the rate limit service for all; use requests and unit"
type RateLimitValue struct {
	// Requests pass in each unit of time.
	//
	// +kubebuilder:validation:Minimum=1
	// +required
	Requests int64 `json:"requests"`

	// Unit is the unit of time.
	//
	// +kubebuilder:validation:Enum=Second;Minute;Hour;Day
	// +required
	Unit string `json:"unit"`

	// FromMetadata is not served.
	//
	// +optional
	FromMetadata *RateLimitMetadata `json:"fromMetadata,omitempty"`
}

// RateLimitSelector selects requests. All that is set must match.
//
// +kubebuilder:validation:XValidation:rule="has(self.headers) && size(self.headers) > 0 || has(self.methods) && size(self.methods) > 0 || has(self.path) || has(self.sourceCIDR) || has(self.queryParams) && size(self.queryParams) > 0",message="set at least one of headers, methods, path, sourceCIDR and queryParams"
type RateLimitSelector struct {
	// Headers that all must match.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Headers []RateLimitMatch `json:"headers,omitempty"`

	// Methods of which one must match.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Methods []RateLimitMethod `json:"methods,omitempty"`

	// Path that must match, without the query.
	//
	// +optional
	Path *RateLimitPath `json:"path,omitempty"`

	// SourceCIDR is where requests come from.
	//
	// +optional
	SourceCIDR *RateLimitSource `json:"sourceCIDR,omitempty"`

	// QueryParams that all must match.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	QueryParams []RateLimitMatch `json:"queryParams,omitempty"`
}

// RateLimitMatch compares a header or a parameter of the query.
//
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type == 'Distinct' ? !has(self.value) : has(self.value)",message="set value, except for type Distinct"
type RateLimitMatch struct {
	// Type is Exact, RegularExpression or Distinct. With Distinct each value has a limit of its own. The default is Exact.
	//
	// +kubebuilder:validation:Enum=Exact;RegularExpression;Distinct
	// +optional
	Type *string `json:"type,omitempty"`

	// Name of the header or the parameter. Headers include :authority, :method, :path and :scheme. The value of :path has the query; path of
	// a selector compares without it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`

	// Value to compare with.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Value *string `json:"value,omitempty"`

	// Invert matches what does not match. It has no effect with Distinct.
	//
	// +optional
	Invert *bool `json:"invert,omitempty"`
}

// RateLimitMethod compares the method of a request.
type RateLimitMethod struct {
	// Value is the method.
	//
	// +required
	Value gwv1.HTTPMethod `json:"value"`

	// Invert matches all other methods.
	//
	// +optional
	Invert *bool `json:"invert,omitempty"`
}

// RateLimitPath compares the path of a request, without the query.
type RateLimitPath struct {
	// Type is Exact, PathPrefix or RegularExpression. The default is PathPrefix.
	//
	// +kubebuilder:validation:Enum=Exact;PathPrefix;RegularExpression
	// +optional
	Type *gwv1.PathMatchType `json:"type,omitempty"`

	// Value to compare with.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Value string `json:"value"`

	// Invert matches all other paths.
	//
	// +optional
	Invert *bool `json:"invert,omitempty"`
}

// RateLimitSource is where requests come from.
type RateLimitSource struct {
	// Type is Exact for all addresses of the range together, or Distinct for a limit for each address. The default is Exact.
	//
	// +kubebuilder:validation:Enum=Exact;Distinct
	// +optional
	Type *string `json:"type,omitempty"`

	// Value is a range of addresses, such as 10.0.0.0/8.
	//
	// +required
	Value CIDR `json:"value"`

	// Invert matches all other addresses. It has no effect with Distinct.
	//
	// +optional
	Invert *bool `json:"invert,omitempty"`
}

// FaultInjection delays or aborts a part of the requests, to test how clients cope.
//
// +kubebuilder:validation:XValidation:rule="has(self.delay) || has(self.abort)",message="set delay or abort"
type FaultInjection struct {
	// Delay holds requests back.
	//
	// +optional
	Delay *FaultDelay `json:"delay,omitempty"`

	// Abort answers requests with an error.
	//
	// +optional
	Abort *FaultAbort `json:"abort,omitempty"`
}

// FaultDelay holds requests back.
type FaultDelay struct {
	// FixedDelay is how long, at least 1ms.
	//
	// +required
	FixedDelay gwv1.Duration `json:"fixedDelay"`

	// Percentage of the requests. The default is 100. Up to four digits behind the point count.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Percentage *float32 `json:"percentage,omitempty"`
}

// FaultAbort answers requests with an error.
//
// +kubebuilder:validation:XValidation:rule="has(self.httpStatus) != has(self.grpcStatus)",message="set one of httpStatus and grpcStatus"
type FaultAbort struct {
	// HTTPStatus is the status of the response.
	//
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	// +optional
	HTTPStatus *int32 `json:"httpStatus,omitempty"`

	// GRPCStatus is the status of a response of gRPC.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16
	// +optional
	GRPCStatus *int32 `json:"grpcStatus,omitempty"`

	// Percentage of the requests. The default is 100. Up to four digits behind the point count.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Percentage *float32 `json:"percentage,omitempty"`
}

// Compression compresses responses for clients that accept it.
type Compression struct {
	// Type is the way to compress.
	//
	// +kubebuilder:validation:Enum=Gzip;Brotli;Zstd
	// +required
	Type string `json:"type"`

	// Gzip has no fields.
	//
	// +optional
	Gzip *CompressionSettings `json:"gzip,omitempty"`

	// Brotli has no fields.
	//
	// +optional
	Brotli *CompressionSettings `json:"brotli,omitempty"`

	// Zstd has no fields.
	//
	// +optional
	Zstd *CompressionSettings `json:"zstd,omitempty"`

	// MinContentLength is how long a response must be. The default is 30 bytes.
	//
	// +optional
	MinContentLength *resource.Quantity `json:"minContentLength,omitempty"`
}

// CompressionSettings has no fields.
type CompressionSettings struct{}

// RequestBuffer receives a request as a whole before it is sent to a backend.
type RequestBuffer struct {
	// Limit is how large a request may be, from 1 byte to 1Gi. A larger one is answered 413.
	//
	// +required
	Limit resource.Quantity `json:"limit"`
}
