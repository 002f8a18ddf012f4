package v1alpha1

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// AccessLogType is where and how requests are written down.
//
// +kubebuilder:validation:Enum=JSON;Text;OTLP
type AccessLogType string

// The types of access logs.
const (
	// JSONAccessLog is a line of JSON on standard output.
	JSONAccessLog AccessLogType = "JSON"
	// TextAccessLog is a line of text on standard output.
	TextAccessLog AccessLogType = "Text"
	// OTLPAccessLog is a log record of OpenTelemetry, sent by gRPC.
	OTLPAccessLog AccessLogType = "OTLP"
)

// AccessLog writes down requests, and the connections of listeners that do not look into them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fields) || self.type != 'Text'",message="fields are for JSON and OTLP"
// +kubebuilder:validation:XValidation:rule="!has(self.format) || self.type == 'Text'",message="format is for Text"
// +kubebuilder:validation:XValidation:rule="has(self.otlp) == (self.type == 'OTLP')",message="otlp is needed for OTLP, and only there"
type AccessLog struct {
	// Type is JSON or Text for standard output, or OTLP.
	//
	// +required
	Type AccessLogType `json:"type"`

	// Fields are what a line of JSON, or the attributes of an OTLP record, say about a request: names, and values in Envoy's format for
	// access logs, such as `%RESPONSE_CODE%`. The default is a line with everything that is commonly asked for. Connections that are not
	// looked into always have the default.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Fields map[string]LogFormat `json:"fields,omitempty"`

	// Format is the line of text, in Envoy's format for access logs. A line break is added. Connections that are not looked into always
	// have the default.
	//
	// +optional
	Format *LogFormat `json:"format,omitempty"`

	// MinimumStatus leaves out requests that were answered with a lower status, such as 400 for those that went well. Calls of gRPC whose
	// status is not OK stay.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=599
	// +optional
	MinimumStatus *int32 `json:"minimumStatus,omitempty"`

	// OTLP is who gets the records.
	//
	// +optional
	OTLP *OTLPReceiver `json:"otlp,omitempty"`
}

// LogFormat is a text in Envoy's format for access logs.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=2048
type LogFormat string

// OTLPReceiver takes OTLP by gRPC.
type OTLPReceiver struct {
	// BackendRef is a Service or a ServiceImport, or an XBackend. One in another namespace than the ProxyConfig needs a ReferenceGrant.
	//
	// +required
	BackendRef gwv1.BackendObjectReference `json:"backendRef"`

	// Headers are sent with each call, such as those that tell a collector which tenant it is for. They are no secrets: every reader of
	// the object sees them.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []gwv1.HTTPHeader `json:"headers,omitempty"`
}

// Tracing has requests become spans of OpenTelemetry.
type Tracing struct {
	// BackendRef takes OTLP by gRPC: a Service or a ServiceImport, or an XBackend. One in another namespace than the ProxyConfig needs a
	// ReferenceGrant.
	//
	// +required
	BackendRef gwv1.BackendObjectReference `json:"backendRef"`

	// Headers are sent with each call, such as those that tell a collector which tenant it is for. They are no secrets: every reader of
	// the object sees them.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []gwv1.HTTPHeader `json:"headers,omitempty"`

	// ServiceName is the name of the service that spans are from. The default is `<gateway>.<namespace>`.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceName *string `json:"serviceName,omitempty"`

	// SamplingRate is the share of requests that become spans where no decision was made before. The default is 1%.
	//
	// +optional
	SamplingRate *gwv1.Fraction `json:"samplingRate,omitempty"`
}

// MetricsMode says whether metrics are served.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type MetricsMode string

// The modes of metrics.
const (
	MetricsEnabled  MetricsMode = "Enabled"
	MetricsDisabled MetricsMode = "Disabled"
)

// Metrics is what proxies count, and for whom.
type Metrics struct {
	// Prometheus says whether each proxy serves its metrics in Prometheus' format, at `/metrics` on its port 19001. The default is Enabled.
	//
	// +optional
	Prometheus *MetricsMode `json:"prometheus,omitempty"`

	// Backends says whether requests are counted for each backend too. That costs memory for each of them, so the default is Disabled.
	//
	// +optional
	Backends *MetricsMode `json:"backends,omitempty"`
}
