package v1alpha1

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// ExtAuth asks a server about each request.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode) ? !(has(self.grpc) || has(self.http)) : has(self.grpc) != has(self.http)",message="set one of grpc and http, or mode None alone"
// +kubebuilder:validation:XValidation:rule="has(self.http) ? !has(self.contextExtensions) : true",message="contextExtensions reach gRPC servers only: remove them, or use grpc"
type ExtAuth struct {
	// Mode None turns off the setting of a less specific policy. It stands alone.
	//
	// +optional
	Mode *SecurityMode `json:"mode,omitempty"`

	// GRPC is a server that speaks Envoy's protocol for external authorization.
	//
	// +optional
	GRPC *GRPCExtAuth `json:"grpc,omitempty"`

	// HTTP is a server that gets a request like that of the client, and answers 200 to let it pass.
	//
	// +optional
	HTTP *HTTPExtAuth `json:"http,omitempty"`

	// HeadersToExtAuth are the headers that the server sees. Without any, a gRPC server sees all, and an HTTP server only Host, the method,
	// the path, Content-Length and Authorization, which it always sees.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	HeadersToExtAuth []string `json:"headersToExtAuth,omitempty"`

	// BodyToExtAuth sends the body of requests to the server as well.
	//
	// +optional
	BodyToExtAuth *BodyToExtAuth `json:"bodyToExtAuth,omitempty"`

	// Timeout is how long the server may take. The default is 10s.
	//
	// +optional
	Timeout *gwv1.Duration `json:"timeout,omitempty"`

	// FailOpen lets requests pass while the server does not answer. A setting that cannot be resolved lets nothing pass all the same. The
	// default is false.
	//
	// +optional
	FailOpen *bool `json:"failOpen,omitempty"`

	// RecomputeRoute chooses the rule again with the headers that the server sets. The policies of that rule apply as well, so a server that
	// both name is asked twice. The default is false.
	//
	// +optional
	RecomputeRoute *bool `json:"recomputeRoute,omitempty"`

	// IncludeRouteMetadata tells a gRPC server which route a request is for: kind, namespace and name, in resources of the metadata
	// gatewright of its route_metadata_context. The default is false.
	//
	// +optional
	IncludeRouteMetadata *bool `json:"includeRouteMetadata,omitempty"`

	// ContextExtensions are values that a gRPC server sees beside each request, as context_extensions of its attributes. Backends do not see
	// them.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	ContextExtensions []ContextExtension `json:"contextExtensions,omitempty"`

	// StatusOnError is the status of the response while the server does not answer. The default is 503.
	//
	// +kubebuilder:validation:Minimum=400
	// +kubebuilder:validation:Maximum=599
	// +optional
	StatusOnError *int32 `json:"statusOnError,omitempty"`
}

// ContextExtensionType is where the value of a context extension is.
//
// +kubebuilder:validation:Enum=Value;ValueRef
type ContextExtensionType string

// Where the value is.
const (
	ContextExtensionValue    ContextExtensionType = "Value"
	ContextExtensionValueRef ContextExtensionType = "ValueRef"
)

// ContextExtension is a value that a server sees beside each request.
//
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type == 'ValueRef' ? has(self.valueRef) && !has(self.value) : has(self.value) && !has(self.valueRef)",message="type Value, the default, needs value, and type ValueRef needs valueRef"
type ContextExtension struct {
	// Name is the name of the value.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`

	// Type is Value or ValueRef. The default is Value.
	//
	// +optional
	Type *ContextExtensionType `json:"type,omitempty"`

	// Value is the value.
	//
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Value *string `json:"value,omitempty"`

	// ValueRef is a key of a ConfigMap or a Secret in the namespace of the policy, with a text of at most 4096 bytes. The object needs the
	// label gatewright.dev/policy-data.
	//
	// +kubebuilder:validation:XValidation:rule="self.group == '' && self.kind in ['ConfigMap', 'Secret']",message="refer to a ConfigMap or a Secret, with group: \"\""
	// +optional
	ValueRef *LocalObjectKeyReference `json:"valueRef,omitempty"`
}

// LocalObjectKeyReference is a key of an object in the same namespace.
type LocalObjectKeyReference struct {
	gwv1.LocalObjectReference `json:",inline"`

	// Key is the key of the object's data.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Key string `json:"key"`
}

// BodyToExtAuth sends the body of requests to the server.
type BodyToExtAuth struct {
	// MaxRequestBytes is how large a body may be. A request with a larger one is answered 413.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	// +required
	MaxRequestBytes int64 `json:"maxRequestBytes"`
}

// GRPCExtAuth is a server that speaks Envoy's protocol.
//
// +kubebuilder:validation:XValidation:rule="has(self.backendRef) || has(self.backendRefs)",message="set backendRef or backendRefs"
type GRPCExtAuth struct {
	SecurityBackend `json:",inline"`
}

// HTTPExtAuth is a server that speaks HTTP.
//
// +kubebuilder:validation:XValidation:rule="has(self.backendRef) || has(self.backendRefs)",message="set backendRef or backendRefs"
// +kubebuilder:validation:XValidation:rule="!(has(self.path) && has(self.pathOverride))",message="set one of path and pathOverride"
type HTTPExtAuth struct {
	SecurityBackend `json:",inline"`

	// Path goes before the path of the request.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path *string `json:"path,omitempty"`

	// PathOverride is sent instead of the path of the request.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	PathOverride *string `json:"pathOverride,omitempty"`

	// HeadersToBackend are the headers of the answer that are set on the request. Without any, none is. What a client sends there is removed,
	// unless headersToExtAuth has the server see it.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	HeadersToBackend []string `json:"headersToBackend,omitempty"`
}
