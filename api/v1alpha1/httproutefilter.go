package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// HTTPRouteFilter is what a rule of an HTTPRoute or a GRPCRoute does beside the filters of the standard. A rule uses it by a filter of
// type ExtensionRef. It must be in the namespace of the route.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories={gatewright,gateway-api},shortName=hrf
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HTTPRouteFilter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the filter does.
	//
	// +required
	Spec HTTPRouteFilterSpec `json:"spec"`
}

// HTTPRouteFilterList is a list of HTTPRouteFilters.
//
// +kubebuilder:object:root=true
type HTTPRouteFilterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HTTPRouteFilter `json:"items"`
}

// HTTPRouteFilterSpec is what a filter does.
//
// +kubebuilder:validation:XValidation:rule="[has(self.urlRewrite), has(self.directResponse), has(self.credentialInjection), has(self.requestHeaderModifier), has(self.responseHeaderModifier), has(self.matches)].exists(x, x)",message="set one of urlRewrite, directResponse, credentialInjection, requestHeaderModifier, responseHeaderModifier and matches"
// +kubebuilder:validation:XValidation:rule="!has(self.directResponse) || !(has(self.urlRewrite) || has(self.credentialInjection) || has(self.requestHeaderModifier))",message="directResponse answers without a backend, so urlRewrite, credentialInjection and requestHeaderModifier have no effect beside it; remove them"
type HTTPRouteFilterSpec struct {
	// URLRewrite changes the host or the path that the backend sees.
	//
	// +optional
	URLRewrite *URLRewrite `json:"urlRewrite,omitempty"`

	// DirectResponse answers without a backend.
	//
	// +optional
	DirectResponse *DirectResponse `json:"directResponse,omitempty"`

	// CredentialInjection adds a credential from a Secret to requests.
	//
	// +optional
	CredentialInjection *CredentialInjection `json:"credentialInjection,omitempty"`

	// RequestHeaderModifier edits headers of requests. Values may have variables, such as %REQ(x-tenant)%.
	//
	// +optional
	RequestHeaderModifier *gwv1.HTTPHeaderFilter `json:"requestHeaderModifier,omitempty"`

	// ResponseHeaderModifier edits headers of responses. Values may have variables, such as %RESPONSE_FLAGS%.
	//
	// +optional
	ResponseHeaderModifier *gwv1.HTTPHeaderFilter `json:"responseHeaderModifier,omitempty"`

	// Matches are further conditions of the rule. A request must meet one of these matches, and one of the rule's.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Matches []HTTPRouteFilterMatch `json:"matches,omitempty"`
}

// URLRewrite changes the host or the path that the backend sees.
//
// +kubebuilder:validation:XValidation:rule="has(self.hostname) || has(self.path)",message="set hostname or path"
type URLRewrite struct {
	// Hostname says where the host comes from that the backend sees.
	//
	// +optional
	Hostname *HostnameModifier `json:"hostname,omitempty"`

	// Path changes the path.
	//
	// +optional
	Path *PathModifier `json:"path,omitempty"`

	// AppendXForwardedHost adds the host that the client asked for to the X-Forwarded-Host header, where the host is rewritten. The
	// default is true.
	//
	// +optional
	AppendXForwardedHost *bool `json:"appendXForwardedHost,omitempty"`
}

// HostnameModifierType says where the host comes from.
//
// +kubebuilder:validation:Enum=Header;Backend;PathRegex
type HostnameModifierType string

// The sources of a host.
const (
	// HostnameFromHeader takes the value of a header of the request.
	HostnameFromHeader HostnameModifierType = "Header"
	// HostnameFromBackend takes the hostname of the endpoint, if it has one.
	HostnameFromBackend HostnameModifierType = "Backend"
	// HostnameFromPath makes it of the path by a regular expression.
	HostnameFromPath HostnameModifierType = "PathRegex"
)

// HostnameModifier says where the host comes from that the backend sees.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'Header' ? has(self.header) : !has(self.header)",message="type Header needs header, and no other type has it"
// +kubebuilder:validation:XValidation:rule="self.type == 'PathRegex' ? has(self.pathRegex) : !has(self.pathRegex)",message="type PathRegex needs pathRegex, and no other type has it"
type HostnameModifier struct {
	// Type says where the host comes from. Header takes the value of a header of the request. Backend takes the hostname of the endpoint,
	// if it has one. PathRegex makes it of the path.
	//
	// +required
	Type HostnameModifierType `json:"type"`

	// Header is the name of the header. A request without it keeps its host.
	//
	// +optional
	Header *gwv1.HTTPHeaderName `json:"header,omitempty"`

	// PathRegex makes the host of the path without its query.
	//
	// +optional
	PathRegex *RegexRewrite `json:"pathRegex,omitempty"`
}

// PathModifierType says how the path is changed.
//
// +kubebuilder:validation:Enum=ReplaceRegexMatch
type PathModifierType string

// ReplaceRegexMatch replaces what an expression matches.
const ReplaceRegexMatch PathModifierType = "ReplaceRegexMatch"

// PathModifier changes the path.
//
// +kubebuilder:validation:XValidation:rule="has(self.replaceRegexMatch)",message="type ReplaceRegexMatch needs replaceRegexMatch"
type PathModifier struct {
	// Type is ReplaceRegexMatch. For other changes use the URLRewrite filter of the standard.
	//
	// +required
	Type PathModifierType `json:"type"`

	// ReplaceRegexMatch replaces every part of the path that the pattern matches. The query stays as it is.
	//
	// +optional
	ReplaceRegexMatch *RegexRewrite `json:"replaceRegexMatch,omitempty"`
}

// RegexRewrite replaces what a regular expression matches.
type RegexRewrite struct {
	// Pattern is a regular expression (RE2), such as ^/service/([^/]+)(/.*)$
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Pattern string `json:"pattern"`

	// Substitution replaces what the pattern matches. \1 to \9 stand for the groups of the pattern, such as \2/instance/\1.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Substitution string `json:"substitution"`
}

// DirectResponse answers without a backend.
type DirectResponse struct {
	// ContentType is the Content-Type header of the answer. The default is text/plain, if there is a body.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	ContentType *string `json:"contentType,omitempty"`

	// Body is the body of the answer. It may have variables, such as %REQ(x-request-id)%. The default is none.
	//
	// +optional
	Body *DirectResponseBody `json:"body,omitempty"`

	// StatusCode is the status of the answer, from 200 to 599. The default is 200. A GRPCRoute needs one that is not 2xx.
	//
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	// +optional
	StatusCode *int32 `json:"statusCode,omitempty"`

	// Header edits the headers of the answer. Values may have variables.
	//
	// +kubebuilder:validation:XValidation:rule="!has(self.remove) || size(self.remove) == 0",message="an answer of directResponse has no header to remove; use set and add"
	// +optional
	Header *gwv1.HTTPHeaderFilter `json:"header,omitempty"`
}

// ValueSource says where a text comes from.
//
// +kubebuilder:validation:Enum=Inline;ValueRef
type ValueSource string

// The sources of a text.
const (
	// SourceInline is a text in the object itself.
	SourceInline ValueSource = "Inline"
	// SourceValueRef is a text in a ConfigMap.
	SourceValueRef ValueSource = "ValueRef"
)

// DirectResponseBody is the body of an answer.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'ValueRef') ? has(self.valueRef) && !has(self.inline) : has(self.inline) && !has(self.valueRef)",message="type Inline needs inline, and type ValueRef needs valueRef; set no other"
type DirectResponseBody struct {
	// Type is Inline or ValueRef. The default is Inline.
	//
	// +kubebuilder:default=Inline
	// +optional
	Type *ValueSource `json:"type,omitempty"`

	// Inline is the body, of at most 32768 bytes.
	//
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Inline *string `json:"inline,omitempty"`

	// ValueRef is a ConfigMap in the namespace of the filter. The body is its key `response.body`, of at most 32768 bytes.
	//
	// +kubebuilder:validation:XValidation:rule="self.kind == 'ConfigMap' && self.group == ''",message="refer to a ConfigMap, with group: \"\""
	// +optional
	ValueRef *gwv1.LocalObjectReference `json:"valueRef,omitempty"`
}

// CredentialInjection adds a credential from a Secret to requests.
type CredentialInjection struct {
	// Header is the header that gets the credential. The default is Authorization.
	//
	// +optional
	Header *gwv1.HTTPHeaderName `json:"header,omitempty"`

	// Overwrite replaces a header that the client sends. The default is false: the client's stays.
	//
	// +optional
	Overwrite *bool `json:"overwrite,omitempty"`

	// Credential is where the credential is found.
	//
	// +required
	Credential InjectedCredential `json:"credential"`
}

// InjectedCredentialKey is the key of a Secret with a credential for backends.
const InjectedCredentialKey = "credential"

// InjectedCredential is where a credential is found.
type InjectedCredential struct {
	// ValueRef is a Secret of type Opaque. Its key `credential` is the value of the header, such as `Bearer <token>`. A Secret in another
	// namespace needs a ReferenceGrant there from HTTPRouteFilters.
	//
	// +required
	ValueRef gwv1.SecretObjectReference `json:"valueRef"`
}

// HTTPRouteFilterMatch are conditions that all must be met.
type HTTPRouteFilterMatch struct {
	// Cookies are conditions on cookies.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +required
	Cookies []CookieMatch `json:"cookies,omitempty"`
}

// CookieMatchType says how the value of a cookie is compared.
//
// +kubebuilder:validation:Enum=Exact;RegularExpression
type CookieMatchType string

// The ways to compare a cookie.
const (
	// CookieMatchExact compares the whole value.
	CookieMatchExact CookieMatchType = "Exact"
	// CookieMatchRegularExpression matches the whole value with a regular expression (RE2).
	CookieMatchRegularExpression CookieMatchType = "RegularExpression"
)

// CookieMatch is a condition on a cookie.
type CookieMatch struct {
	// Type says how the value is compared. The default is Exact.
	//
	// +kubebuilder:default=Exact
	// +optional
	Type *CookieMatchType `json:"type,omitempty"`

	// Name is the name of the cookie.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`

	// Value is the value, or a regular expression for the whole value.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Value string `json:"value"`
}
