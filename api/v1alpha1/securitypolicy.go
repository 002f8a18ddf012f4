package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// SecurityPolicy says which requests may reach what its targets serve. Whatever of it is broken answers an error; it lets nothing pass.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories={gatewright,gateway-api},shortName=sp
// +kubebuilder:metadata:labels="gateway.networking.k8s.io/policy=Inherited"
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetRefs[*].name`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SecurityPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the targets and the settings.
	//
	// +required
	Spec SecurityPolicySpec `json:"spec"`

	// Status is what became of the policy.
	//
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// SecurityPolicyList is a list of SecurityPolicies.
//
// +kubebuilder:object:root=true
type SecurityPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SecurityPolicy `json:"items"`
}

// SecurityPolicySpec is the targets and the settings. Each field is one setting, which is merged as a whole. Authorization is the
// exception: that of every level must allow a request.
//
// +kubebuilder:validation:XValidation:rule="has(self.targetRefs) || has(self.targetRef) || has(self.targetSelectors)",message="set targetRefs or targetSelectors"
// +kubebuilder:validation:XValidation:rule="!has(self.authorization) || !has(self.authorization.rules) || has(self.jwt) || self.authorization.rules.all(r, !has(r.principal) || !has(r.principal.jwt))",message="authorization.rules with principal.jwt need jwt in the same policy"
// +kubebuilder:validation:XValidation:rule="!has(self.rateLimit)",message="rateLimit is not a setting of a SecurityPolicy; use rateLimit of a BackendTrafficPolicy with the same targets"
type SecurityPolicySpec struct {
	PolicyTargets `json:",inline"`

	// CORS says which scripts of other origins may use the targets. Proxies answer preflight requests. A CORS filter of a rule wins.
	//
	// +optional
	CORS *CORS `json:"cors,omitempty"`

	// CSRF refuses requests of other origins that change something.
	//
	// +optional
	CSRF *CSRF `json:"csrf,omitempty"`

	// ExtAuth asks a server about each request. An ExternalAuth filter of a rule wins.
	//
	// +optional
	ExtAuth *ExtAuth `json:"extAuth,omitempty"`

	// JWT asks for a JSON Web Token.
	//
	// +optional
	JWT *JWT `json:"jwt,omitempty"`

	// OIDC has browsers log in at an OpenID Connect provider.
	//
	// +optional
	OIDC *OIDC `json:"oidc,omitempty"`

	// BasicAuth asks for a user name and a password.
	//
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`

	// APIKeyAuth asks for an API key.
	//
	// +optional
	APIKeyAuth *APIKeyAuth `json:"apiKeyAuth,omitempty"`

	// Authentication says how jwt, oidc, basicAuth and apiKeyAuth count together.
	//
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`

	// Authorization says which requests are allowed. That of every policy above a rule must allow a request.
	//
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`

	// RateLimit is rejected. Use rateLimit of a BackendTrafficPolicy with the same targets.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	RateLimit *SecurityRateLimit `json:"rateLimit,omitempty"`
}

// SecurityRateLimit is rejected.
type SecurityRateLimit struct{}

// SecurityMode turns a setting off.
//
// +kubebuilder:validation:Enum=None
type SecurityMode string

// SecurityNone turns off what a less specific policy with the strategy Defaults says.
const SecurityNone SecurityMode = "None"

// AuthenticationRequirement is how several kinds of authentication count together.
//
// +kubebuilder:validation:Enum=All;Any
type AuthenticationRequirement string

// The requirements.
const (
	AuthenticationAll AuthenticationRequirement = "All"
	AuthenticationAny AuthenticationRequirement = "Any"
)

// Authentication says how several kinds of authentication count together.
type Authentication struct {
	// Require All asks for every kind of credentials that policies ask for. Any is content with one of them: the credentials that a request
	// brings along decide which, and have to be valid. The default is All.
	//
	// +optional
	Require *AuthenticationRequirement `json:"require,omitempty"`
}

// CORSOrigin is `*`, or an origin such as https://www.example.com. The host may begin with `*`, for any number of labels.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^(\*|[A-Za-z][A-Za-z0-9+.-]*:\/\/(\*|(\*\.)?[\w-]+(\.[\w-]+)*)(:\d{1,5})?)$`
type CORSOrigin string

// CORS says which scripts of other origins may use the targets.
//
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || !(has(self.allowOrigins) || has(self.allowMethods) || has(self.allowHeaders) || has(self.exposeHeaders) || has(self.maxAge) || has(self.allowCredentials))",message="mode None stands alone; remove the other fields, or mode"
type CORS struct {
	// Mode None turns off the setting of a less specific policy. It stands alone.
	//
	// +optional
	Mode *SecurityMode `json:"mode,omitempty"`

	// AllowOrigins are the origins of scripts. Without any, no script of another origin is allowed.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	AllowOrigins []CORSOrigin `json:"allowOrigins,omitempty"`

	// AllowMethods are the methods that scripts may use; `*` is any.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=set
	// +optional
	AllowMethods []string `json:"allowMethods,omitempty"`

	// AllowHeaders are the headers that scripts may send; `*` is any.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	AllowHeaders []string `json:"allowHeaders,omitempty"`

	// ExposeHeaders are the headers of responses that scripts may read; `*` is any, without credentials.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	ExposeHeaders []string `json:"exposeHeaders,omitempty"`

	// MaxAge is how long browsers may remember the answer to a preflight request. The default is 5s.
	//
	// +optional
	MaxAge *gwv1.Duration `json:"maxAge,omitempty"`

	// AllowCredentials lets scripts send cookies and the like. The default is false.
	//
	// +optional
	AllowCredentials *bool `json:"allowCredentials,omitempty"`
}
