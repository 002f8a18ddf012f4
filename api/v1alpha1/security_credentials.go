package v1alpha1

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// PolicyDataLabel is the label that a Secret or a ConfigMap needs so that Gatewright reads keys of any name. Without it, Gatewright keeps
// only the keys with fixed names.
const PolicyDataLabel = "gatewright.dev/policy-data"

// HtpasswdKey is the key of a Secret with users and passwords.
const HtpasswdKey = ".htpasswd"

// BasicAuth asks for a user name and a password.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode) ? !(has(self.users) || has(self.forwardUsernameHeader)) : has(self.users)",message="set users, or mode None alone"
type BasicAuth struct {
	// Mode None turns off the setting of a less specific policy. It stands alone.
	//
	// +optional
	Mode *SecurityMode `json:"mode,omitempty"`

	// Users is a Secret with the key `.htpasswd`: lines of `user:{SHA}hash`, as htpasswd -s writes them. A Secret in another namespace
	// needs a ReferenceGrant.
	//
	// +optional
	Users *gwv1.SecretObjectReference `json:"users,omitempty"`

	// ForwardUsernameHeader is the request header in which backends see the name of the user. What a client sends there is replaced.
	//
	// +optional
	ForwardUsernameHeader *gwv1.HTTPHeaderName `json:"forwardUsernameHeader,omitempty"`
}

// APIKeyAuth asks for an API key.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode) ? !(has(self.credentialRefs) || has(self.extractFrom) || has(self.forwardClientIDHeader) || has(self.sanitize)) : has(self.credentialRefs) && has(self.extractFrom)",message="set credentialRefs and extractFrom, or mode None alone"
type APIKeyAuth struct {
	// Mode None turns off the setting of a less specific policy. It stands alone.
	//
	// +optional
	Mode *SecurityMode `json:"mode,omitempty"`

	// CredentialRefs are Secrets with the API keys. Each key of a Secret is the ID of a client, and its value the API key of that client.
	// The Secrets need the label gatewright.dev/policy-data. One in another namespace needs a ReferenceGrant.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	CredentialRefs []gwv1.SecretObjectReference `json:"credentialRefs,omitempty"`

	// ExtractFrom is where an API key is looked for. The first place that has one counts.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	ExtractFrom []ExtractFrom `json:"extractFrom,omitempty"`

	// ForwardClientIDHeader is the request header in which backends see the ID of the client. What a client sends there is replaced.
	//
	// +optional
	ForwardClientIDHeader *gwv1.HTTPHeaderName `json:"forwardClientIDHeader,omitempty"`

	// Sanitize removes the API key from requests to backends. The default is false.
	//
	// +optional
	Sanitize *bool `json:"sanitize,omitempty"`
}

// ExtractFrom is where an API key is looked for.
//
// +kubebuilder:validation:XValidation:rule="[has(self.headers), has(self.params), has(self.cookies)].filter(x, x).size() == 1",message="set exactly one of headers, params and cookies"
type ExtractFrom struct {
	// Headers are names of headers. `Bearer ` before the key is ignored.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Headers []string `json:"headers,omitempty"`

	// Params are names of query parameters.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Params []string `json:"params,omitempty"`

	// Cookies are names of cookies.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Cookies []string `json:"cookies,omitempty"`
}
