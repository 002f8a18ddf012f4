package v1alpha1

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// AuthorizationAction is what becomes of a request.
//
// +kubebuilder:validation:Enum=Allow;Deny
type AuthorizationAction string

// The actions.
const (
	AuthorizationAllow AuthorizationAction = "Allow"
	// AuthorizationDeny answers 403.
	AuthorizationDeny AuthorizationAction = "Deny"
)

// Authorization says which requests are allowed.
type Authorization struct {
	// Rules are compared in their order. The first that matches a request decides about it.
	//
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	Rules []AuthorizationRule `json:"rules,omitempty"`

	// DefaultAction decides about requests that no rule matches. The default is Deny.
	//
	// +optional
	DefaultAction *AuthorizationAction `json:"defaultAction,omitempty"`
}

// AuthorizationRule decides about the requests that it matches. All of operation, principal and cel have to match.
//
// +kubebuilder:validation:XValidation:rule="has(self.principal) || has(self.operation) || has(self.cel)",message="set at least one of principal, operation and cel"
type AuthorizationRule struct {
	// Name is a name for people.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name *string `json:"name,omitempty"`

	// Action is what becomes of a request that matches.
	//
	// +required
	Action AuthorizationAction `json:"action"`

	// Operation is what a request asks for.
	//
	// +optional
	Operation *AuthorizationOperation `json:"operation,omitempty"`

	// Principal is which client sends a request.
	//
	// +optional
	Principal *AuthorizationPrincipal `json:"principal,omitempty"`

	// CEL is an expression that has to be true, such as request.headers['x-tenant'] == 'a' && request.path.startsWith('/a/'). It has the
	// attributes request, source, destination, connection and metadata of Envoy, and no functions that loop. An expression that cannot be
	// evaluated, as when it asks for a header that is not there, does not match in a rule that allows, and matches in one that denies.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	CEL *string `json:"cel,omitempty"`
}

// AuthorizationOperation is what a request asks for.
//
// +kubebuilder:validation:XValidation:rule="has(self.methods) || has(self.path)",message="set methods or path"
type AuthorizationOperation struct {
	// Methods are the methods, any of which matches.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Methods []gwv1.HTTPMethod `json:"methods,omitempty"`

	// Path is the path without the query.
	//
	// +optional
	Path *AuthorizationPath `json:"path,omitempty"`
}

// AuthorizationPath compares the path of a request, after it is normalized. A rule that denies also matches paths with several slashes or
// escaped slashes in the place of one.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'RegularExpression') || self.value.startsWith('/')",message="value must begin with a slash"
type AuthorizationPath struct {
	// Type is Exact, PathPrefix for whole segments, or RegularExpression for the whole path. The default is PathPrefix.
	//
	// +kubebuilder:validation:Enum=Exact;PathPrefix;RegularExpression
	// +optional
	Type *gwv1.PathMatchType `json:"type,omitempty"`

	// Value is what the path is compared with.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Value string `json:"value"`

	// Invert matches all paths but these. The default is false.
	//
	// +optional
	Invert *bool `json:"invert,omitempty"`
}

// AuthorizationPrincipal is which client sends a request. All fields have to match.
//
// +kubebuilder:validation:XValidation:rule="has(self.clientCIDRs) || has(self.jwt) || has(self.headers) || has(self.clientIPGeoLocations)",message="set at least one of clientCIDRs, jwt, headers and clientIPGeoLocations"
type AuthorizationPrincipal struct {
	// ClientCIDRs are the addresses of clients, any of which matches. Where the address of a client is found is a setting of
	// ClientTrafficPolicy.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=set
	// +optional
	ClientCIDRs []CIDR `json:"clientCIDRs,omitempty"`

	// JWT is what the token of a request says, which jwt of the same policy has verified.
	//
	// +optional
	JWT *JWTPrincipal `json:"jwt,omitempty"`

	// Headers all have to match.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []AuthorizationHeader `json:"headers,omitempty"`

	// ClientIPGeoLocations are where clients are by their address, any of which matches. The ProxyConfig of the Gateway has to have
	// databases for it, in geoIP. The address is the one of clientCIDRs. One that no database has matches no location.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	ClientIPGeoLocations []ClientIPGeoLocation `json:"clientIPGeoLocations,omitempty"`
}

// AuthorizationHeader compares the value of a header.
type AuthorizationHeader struct {
	// Name is the name of the header, in any case.
	//
	// +required
	Name gwv1.HTTPHeaderName `json:"name"`

	// Values are the values, any of which matches.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=set
	// +required
	Values []string `json:"values"`
}

// JWTPrincipal is what a token says.
//
// +kubebuilder:validation:XValidation:rule="has(self.claims) || has(self.scopes)",message="set claims or scopes"
type JWTPrincipal struct {
	// Provider is the name of a provider in jwt of this policy.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Provider string `json:"provider"`

	// Claims all have to match.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Claims []JWTClaim `json:"claims,omitempty"`

	// Scopes must all be in the claim `scope` or `scp`.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Scopes []string `json:"scopes,omitempty"`
}

// JWTClaimValueType is the type of a claim.
//
// +kubebuilder:validation:Enum=String;StringArray
type JWTClaimValueType string

// The types of claims.
const (
	ClaimString      JWTClaimValueType = "String"
	ClaimStringArray JWTClaimValueType = "StringArray"
)

// JWTClaim compares a claim of a token.
type JWTClaim struct {
	// Name is the name of the claim. Dots lead into objects, as in `organization.department`.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// ValueType is String, or StringArray for a list of which one element has to match. The default is String.
	//
	// +optional
	ValueType *JWTClaimValueType `json:"valueType,omitempty"`

	// Values are the values, any of which matches.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=set
	// +required
	Values []string `json:"values"`
}
