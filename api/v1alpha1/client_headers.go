package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ClientHeaders says how headers of requests and responses are treated.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.preserveXRequestID) && has(self.requestID))",message="set one of preserveXRequestID and requestID"
type ClientHeaders struct {
	// EnableEnvoyHeaders sends `x-envoy-` headers to clients and backends.
	//
	// +optional
	EnableEnvoyHeaders *bool `json:"enableEnvoyHeaders,omitempty"`

	// XForwardedClientCert says what backends see of client certificates, by the x-forwarded-client-cert header. By default it is removed.
	//
	// +optional
	XForwardedClientCert *XForwardedClientCert `json:"xForwardedClientCert,omitempty"`

	// WithUnderscoresAction is what happens to a request with an underscore in the name of a header.
	//
	// +optional
	WithUnderscoresAction *WithUnderscoresAction `json:"withUnderscoresAction,omitempty"`

	// PreserveXRequestID is requestID: PreserveOrGenerate.
	//
	// +optional
	PreserveXRequestID *bool `json:"preserveXRequestID,omitempty"`

	// RequestID says what happens to the x-request-id header. The default is Generate.
	//
	// +optional
	RequestID *RequestIDAction `json:"requestID,omitempty"`

	// EarlyRequestHeaders changes headers of requests before anything else sees them, the choice of a route included.
	//
	// +optional
	EarlyRequestHeaders *HeaderMutation `json:"earlyRequestHeaders,omitempty"`

	// LateResponseHeaders changes headers of responses after everything else.
	//
	// +optional
	LateResponseHeaders *HeaderMutation `json:"lateResponseHeaders,omitempty"`

	// Host says how the Host header is normalized.
	//
	// +optional
	Host *HostSettings `json:"host,omitempty"`

	// MaxRequestHeaderLimit is the size of all headers of a request together, from 1Ki to 8Mi. Larger ones are answered 431. The default
	// is 60Ki.
	//
	// +optional
	MaxRequestHeaderLimit *resource.Quantity `json:"maxRequestHeaderLimit,omitempty"`
}

// XFCCMode is what happens to the x-forwarded-client-cert header.
//
// +kubebuilder:validation:Enum=Sanitize;ForwardOnly;AppendForward;SanitizeSet;AlwaysForwardOnly
type XFCCMode string

// The modes of x-forwarded-client-cert.
const (
	XFCCSanitize          XFCCMode = "Sanitize"
	XFCCForwardOnly       XFCCMode = "ForwardOnly"
	XFCCAppendForward     XFCCMode = "AppendForward"
	XFCCSanitizeSet       XFCCMode = "SanitizeSet"
	XFCCAlwaysForwardOnly XFCCMode = "AlwaysForwardOnly"
)

// XFCCCertData is what the header has of the certificate.
//
// +kubebuilder:validation:Enum=Subject;Cert;Chain;DNS;URI
type XFCCCertData string

// The details of a certificate.
const (
	XFCCSubject XFCCCertData = "Subject"
	XFCCCert    XFCCCertData = "Cert"
	XFCCChain   XFCCCertData = "Chain"
	XFCCDNS     XFCCCertData = "DNS"
	XFCCURI     XFCCCertData = "URI"
)

// XForwardedClientCert says what backends see of client certificates.
//
// +kubebuilder:validation:XValidation:rule="!has(self.certDetailsToAdd) || (has(self.mode) && self.mode in ['AppendForward', 'SanitizeSet'])",message="certDetailsToAdd needs mode AppendForward or SanitizeSet"
type XForwardedClientCert struct {
	// Mode says what happens to the header: Sanitize removes it. ForwardOnly forwards it where the client showed a certificate.
	// AppendForward adds to it, and SanitizeSet replaces it, where the client showed one. AlwaysForwardOnly forwards what clients send,
	// with or without a certificate. The default is Sanitize.
	//
	// +optional
	Mode *XFCCMode `json:"mode,omitempty"`

	// CertDetailsToAdd is what is added of the certificate, beside its hash.
	//
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	CertDetailsToAdd []XFCCCertData `json:"certDetailsToAdd,omitempty"`
}

// WithUnderscoresAction is what happens to a request with an underscore in the name of a header.
//
// +kubebuilder:validation:Enum=Allow;RejectRequest;DropHeader
type WithUnderscoresAction string

// The actions for underscores.
const (
	UnderscoresAllow         WithUnderscoresAction = "Allow"
	UnderscoresRejectRequest WithUnderscoresAction = "RejectRequest"
	UnderscoresDropHeader    WithUnderscoresAction = "DropHeader"
)

// RequestIDAction is what happens to the x-request-id header.
//
// +kubebuilder:validation:Enum=PreserveOrGenerate;Preserve;Generate;Disable
type RequestIDAction string

// The actions for the x-request-id header.
const (
	// RequestIDPreserveOrGenerate keeps the client's, and makes one where there is none.
	RequestIDPreserveOrGenerate RequestIDAction = "PreserveOrGenerate"
	// RequestIDPreserve keeps the client's, and makes none.
	RequestIDPreserve RequestIDAction = "Preserve"
	// RequestIDGenerate makes one for each request.
	RequestIDGenerate RequestIDAction = "Generate"
	// RequestIDDisable removes the client's and makes none.
	RequestIDDisable RequestIDAction = "Disable"
)

// HeaderMutation changes headers. Its names and values have at most 16,384 characters together.
//
// +kubebuilder:validation:XValidation:rule="(has(self.set) ? self.set.map(h, size(h.name) + size(h.value)).sum() : 0) + (has(self.add) ? self.add.map(h, size(h.name) + size(h.value)).sum() : 0) + (has(self.addIfAbsent) ? self.addIfAbsent.map(h, size(h.name) + size(h.value)).sum() : 0) + (has(self.remove) ? self.remove.map(n, size(n)).sum() : 0) + (has(self.removeOnMatch) ? self.removeOnMatch.map(m, size(m.value)).sum() : 0) <= 16384",message="names and values have at most 16384 characters together"
type HeaderMutation struct {
	// Set replaces headers.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Set []gwv1.HTTPHeader `json:"set,omitempty"`

	// Add adds values to headers.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Add []gwv1.HTTPHeader `json:"add,omitempty"`

	// AddIfAbsent adds headers that are not there.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	AddIfAbsent []gwv1.HTTPHeader `json:"addIfAbsent,omitempty"`

	// Remove removes headers by name.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	Remove []string `json:"remove,omitempty"`

	// RemoveOnMatch removes headers whose names match.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	RemoveOnMatch []StringMatch `json:"removeOnMatch,omitempty"`
}

// HostSettings says how the Host header is normalized.
type HostSettings struct {
	// StripTrailingHostDot removes a dot at the end of the host. The default is true.
	//
	// +optional
	StripTrailingHostDot *bool `json:"stripTrailingHostDot,omitempty"`
}
