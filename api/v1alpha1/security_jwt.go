package v1alpha1

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// JWKSKey is the key of a ConfigMap with a JSON Web Key Set.
const JWKSKey = "jwks"

// JWT asks for a JSON Web Token, which one of the providers has to have signed.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode) ? !(has(self.providers) || has(self.optional) || has(self.failOpen)) : has(self.providers)",message="set providers, or mode None alone"
// +kubebuilder:validation:XValidation:rule="!(has(self.optional) && has(self.failOpen))",message="set one of optional and failOpen; failOpen also lets requests without a token pass"
type JWT struct {
	// Mode None turns off the setting of a less specific policy. It stands alone.
	//
	// +optional
	Mode *SecurityMode `json:"mode,omitempty"`

	// Optional lets requests without a token pass. A token that is there has to be valid. The default is false.
	//
	// +optional
	Optional *bool `json:"optional,omitempty"`

	// FailOpen lets requests with an invalid token pass too, without claims. Use it only with authorization that looks at the claims. The
	// default is false.
	//
	// +optional
	FailOpen *bool `json:"failOpen,omitempty"`

	// Providers are those whose tokens are accepted, any of which may have signed a token.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Providers []JWTProvider `json:"providers,omitempty"`
}

// JWTProvider signs tokens.
//
// +kubebuilder:validation:XValidation:rule="has(self.remoteJWKS) != has(self.localJWKS)",message="set one of remoteJWKS and localJWKS"
// +kubebuilder:validation:XValidation:rule="!has(self.recomputeRoute) || !self.recomputeRoute || has(self.claimToHeaders)",message="recomputeRoute needs claimToHeaders"
type JWTProvider struct {
	// Name is the name by which authorization refers to the provider.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Issuer is what the claim `iss` has to be. Without it, any issuer is accepted whose keys these are.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Issuer string `json:"issuer,omitempty"`

	// Audiences are those of which the claim `aud` needs one. Without any, all are accepted.
	//
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Audiences []string `json:"audiences,omitempty"`

	// RemoteJWKS are keys that proxies fetch. While there are none, requests are answered 401.
	//
	// +optional
	RemoteJWKS *RemoteJWKS `json:"remoteJWKS,omitempty"`

	// LocalJWKS are keys in this policy or in a ConfigMap.
	//
	// +optional
	LocalJWKS *LocalJWKS `json:"localJWKS,omitempty"`

	// ClaimToHeaders are claims that backends see in request headers. What a client sends there is removed.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	ClaimToHeaders []ClaimToHeader `json:"claimToHeaders,omitempty"`

	// RecomputeRoute chooses the rule again once the headers of claimToHeaders are there. The policies of that rule apply as well. The
	// default is false.
	//
	// +optional
	RecomputeRoute *bool `json:"recomputeRoute,omitempty"`

	// ExtractFrom is where a token is looked for. The default is `Authorization: Bearer`, and the query parameter access_token.
	//
	// +optional
	ExtractFrom *JWTExtractor `json:"extractFrom,omitempty"`
}

// SecurityBackend is a server that proxies ask.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.backendRef) && has(self.backendRefs))",message="set one of backendRef and backendRefs"
type SecurityBackend struct {
	// BackendRef is a port of a Service or a ServiceImport, or an XBackend. A Service or a ServiceImport in another namespace needs a
	// ReferenceGrant. Its TLS is that of a BackendTLSPolicy or of the XBackend, and its other settings those of a policy that targets it.
	//
	// +optional
	BackendRef *gwv1.BackendObjectReference `json:"backendRef,omitempty"`

	// BackendRefs is backendRef, as a list of one.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +listType=atomic
	// +optional
	BackendRefs []gwv1.BackendObjectReference `json:"backendRefs,omitempty"`
}

// RemoteJWKS are keys that proxies fetch.
//
// +kubebuilder:validation:XValidation:rule="has(self.backendRef) || has(self.backendRefs)",message="set backendRef: a Service or a ServiceImport, or an XBackend of type ExternalHostname for a host outside the cluster"
type RemoteJWKS struct {
	SecurityBackend `json:",inline"`

	// URI is the host and the path that proxies ask the backend for.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#]+(/[^\s#]*)?$`
	// +required
	URI string `json:"uri"`

	// CacheDuration is how long keys are used before they are fetched again. The default is 5m.
	//
	// +optional
	CacheDuration *gwv1.Duration `json:"cacheDuration,omitempty"`

	// FailedRefetchDuration is how long proxies wait before they try again. The default is 1s.
	//
	// +optional
	FailedRefetchDuration *gwv1.Duration `json:"failedRefetchDuration,omitempty"`
}

// LocalJWKSType is where keys are.
//
// +kubebuilder:validation:Enum=Inline;ValueRef
type LocalJWKSType string

// Where keys are.
const (
	LocalJWKSInline   LocalJWKSType = "Inline"
	LocalJWKSValueRef LocalJWKSType = "ValueRef"
)

// LocalJWKS are keys in this policy or in a ConfigMap.
//
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type == 'ValueRef' ? has(self.valueRef) && !has(self.inline) : has(self.inline) && !has(self.valueRef)",message="type Inline, the default, needs inline, and type ValueRef needs valueRef"
type LocalJWKS struct {
	// Type is Inline or ValueRef. The default is Inline.
	//
	// +optional
	Type *LocalJWKSType `json:"type,omitempty"`

	// Inline is a JSON Web Key Set.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Inline *string `json:"inline,omitempty"`

	// ValueRef is a ConfigMap in the namespace of the policy, with a JSON Web Key Set under the key `jwks`.
	//
	// +optional
	ValueRef *gwv1.LocalObjectReference `json:"valueRef,omitempty"`
}

// ClaimToHeader is a claim that backends see in a header.
type ClaimToHeader struct {
	// Header is the name of the header.
	//
	// +required
	Header gwv1.HTTPHeaderName `json:"header"`

	// Claim is the name of the claim: a text, a number or a boolean. Dots lead into objects.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Claim string `json:"claim"`
}

// JWTExtractor is where a token is looked for. Every token that is found has to be valid.
//
// +kubebuilder:validation:XValidation:rule="has(self.headers) || has(self.cookies) || has(self.params)",message="set headers, cookies or params"
type JWTExtractor struct {
	// Headers are names of headers, with what stands before the token.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Headers []JWTHeader `json:"headers,omitempty"`

	// Cookies are names of cookies.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Cookies []string `json:"cookies,omitempty"`

	// Params are names of query parameters.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Params []string `json:"params,omitempty"`
}

// JWTHeader is a header with a token.
type JWTHeader struct {
	// Name is the name of the header.
	//
	// +required
	Name gwv1.HTTPHeaderName `json:"name"`

	// ValuePrefix is what stands before the token, such as `Bearer ` with the space.
	//
	// +kubebuilder:validation:MaxLength=256
	// +optional
	ValuePrefix *string `json:"valuePrefix,omitempty"`
}
