package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Extension is code of a user that requests and responses of a rule pass: a server that processes them, or a Lua script. A rule of an
// HTTPRoute or a GRPCRoute uses it by a filter of type ExtensionRef. It must be in the namespace of the route. A listener uses one with
// extProc by a filter of the same type, before a route is chosen. It must be in the namespace of the Gateway or ListenerSet. The operator
// must enable each type.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories={gatewright,gateway-api},shortName=ext
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Extension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the code.
	//
	// +required
	Spec ExtensionSpec `json:"spec"`
}

// ExtensionList is a list of Extensions.
//
// +kubebuilder:object:root=true
type ExtensionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Extension `json:"items"`
}

// ExtensionSpec is the code of an extension. Requests pass the servers of extProc first, then the scripts of lua, each in the order of its
// list. Responses pass them backwards. For another order use several Extensions.
//
// +kubebuilder:validation:XValidation:rule="has(self.extProc) || has(self.lua)",message="set extProc or lua"
type ExtensionSpec struct {
	// ExtProc are servers that see requests and responses, and may change or answer them.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	ExtProc []ExtProc `json:"extProc,omitempty"`

	// Lua are scripts that run in the proxies.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Lua []Lua `json:"lua,omitempty"`
}

// ExtProc is a server that speaks Envoy's protocol for external processing by gRPC.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.failOpen) && self.failOpen && has(self.processingMode) && ((has(self.processingMode.request) && has(self.processingMode.request.body) && self.processingMode.request.body == 'FullDuplexStreamed') || (has(self.processingMode.response) && has(self.processingMode.response.body) && self.processingMode.response.body == 'FullDuplexStreamed')))",message="failOpen cannot be beside body FullDuplexStreamed; remove one"
// +kubebuilder:validation:XValidation:rule="!(has(self.shadowMode) && self.shadowMode && has(self.processingMode) && ((has(self.processingMode.request) && has(self.processingMode.request.body) && self.processingMode.request.body != 'Streamed') || (has(self.processingMode.response) && has(self.processingMode.response.body) && self.processingMode.response.body != 'Streamed')))",message="with shadowMode a body must be Streamed, or not be sent"
type ExtProc struct {
	// BackendRefs is the server: a port of a Service or a ServiceImport, a Backend, or an XBackend. One in another namespace needs a
	// ReferenceGrant.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +listType=atomic
	// +required
	BackendRefs []gwv1.BackendObjectReference `json:"backendRefs"`

	// MessageTimeout is how long the server may take to answer a message. The default is 200ms.
	//
	// +optional
	MessageTimeout *gwv1.Duration `json:"messageTimeout,omitempty"`

	// FailOpen lets requests pass while the server cannot be reached. The default is false: they are answered with an error.
	//
	// +optional
	FailOpen *bool `json:"failOpen,omitempty"`

	// ProcessingMode is what the server sees. By default it sees nothing.
	//
	// +optional
	ProcessingMode *ExtProcProcessingMode `json:"processingMode,omitempty"`

	// ShadowMode sends messages to the server and does not wait for its answers. The default is false.
	//
	// +optional
	ShadowMode *bool `json:"shadowMode,omitempty"`

	// Metadata is which dynamic metadata the server sees and may set.
	//
	// +optional
	Metadata *ExtProcMetadata `json:"metadata,omitempty"`

	// StatusOnError is the status of requests while the server cannot be reached or fails: one that Envoy knows, from 400 to 511. The
	// default is 500.
	//
	// +kubebuilder:validation:Minimum=400
	// +kubebuilder:validation:Maximum=511
	// +optional
	StatusOnError *int32 `json:"statusOnError,omitempty"`
}

// ExtProcProcessingMode is what a server sees.
type ExtProcProcessingMode struct {
	// Request sends the headers of requests, and their bodies as body says.
	//
	// +optional
	Request *ExtProcMessage `json:"request,omitempty"`

	// Response sends the headers of responses, and their bodies as body says.
	//
	// +optional
	Response *ExtProcMessage `json:"response,omitempty"`

	// AllowModeOverride lets the server change for each request what it sees. The default is false.
	//
	// +optional
	AllowModeOverride *bool `json:"allowModeOverride,omitempty"`
}

// ExtProcBodyMode says how a body is sent.
//
// +kubebuilder:validation:Enum=Streamed;Buffered;BufferedPartial;FullDuplexStreamed
type ExtProcBodyMode string

// The ways to send a body.
const (
	// ExtProcStreamed sends it in pieces as they arrive.
	ExtProcStreamed ExtProcBodyMode = "Streamed"
	// ExtProcBuffered sends it as a whole. One that is too large is answered with an error.
	ExtProcBuffered ExtProcBodyMode = "Buffered"
	// ExtProcBufferedPartial sends as much as can be buffered.
	ExtProcBufferedPartial ExtProcBodyMode = "BufferedPartial"
	// ExtProcFullDuplexStreamed sends it in pieces, and trailers, and lets the server answer in other pieces.
	ExtProcFullDuplexStreamed ExtProcBodyMode = "FullDuplexStreamed"
)

// ExtProcMessage is what a server sees of requests or responses.
type ExtProcMessage struct {
	// Body says how the body is sent. By default it is not.
	//
	// +optional
	Body *ExtProcBodyMode `json:"body,omitempty"`

	// Attributes are attributes that are sent too, such as request.path or source.address.
	//
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^(connection\.|source\.|destination\.|request\.|response\.|upstream\.|xds\.route_)[a-z_1-9]+$`
	// +listType=set
	// +optional
	Attributes []string `json:"attributes,omitempty"`
}

// ExtProcMetadata is which dynamic metadata a server sees and may set.
type ExtProcMetadata struct {
	// AccessibleNamespaces are sent to the server.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +listType=set
	// +optional
	AccessibleNamespaces []string `json:"accessibleNamespaces,omitempty"`

	// WritableNamespaces can be set by the server. Those of Envoy's filters cannot, except envoy.lb.subset_hint, which says from which
	// endpoints the picker of an InferencePool may choose.
	//
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(n, n == 'envoy.lb.subset_hint' || !n.startsWith('envoy.'))",message="writableNamespaces cannot have namespaces of Envoy; use one of your own"
	// +listType=set
	// +optional
	WritableNamespaces []string `json:"writableNamespaces,omitempty"`
}

// Lua is a script that runs in the proxies.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'ValueRef') ? has(self.valueRef) && !has(self.inline) : has(self.inline) && !has(self.valueRef)",message="type Inline needs inline, and type ValueRef needs valueRef; set no other"
type Lua struct {
	// Type is Inline or ValueRef. The default is Inline.
	//
	// +kubebuilder:default=Inline
	// +optional
	Type *ValueSource `json:"type,omitempty"`

	// Inline is the script, of at most 32768 bytes. It defines envoy_on_request, envoy_on_response or both.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Inline *string `json:"inline,omitempty"`

	// ValueRef is a ConfigMap in the namespace of the Extension. The script is its key `lua`, of at most 32768 bytes.
	//
	// +kubebuilder:validation:XValidation:rule="self.kind == 'ConfigMap' && self.group == ''",message="refer to a ConfigMap, with group: \"\""
	// +optional
	ValueRef *gwv1.LocalObjectReference `json:"valueRef,omitempty"`

	// FilterContext is an object that the script gets by handle:filterContext(), of at most 8192 bytes.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	FilterContext *runtime.RawExtension `json:"filterContext,omitempty"`
}
