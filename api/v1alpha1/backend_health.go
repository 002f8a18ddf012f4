package v1alpha1

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// HealthCheck says which endpoints get requests.
type HealthCheck struct {
	// Active asks endpoints whether they are healthy. Each proxy asks each endpoint.
	//
	// +optional
	Active *ActiveHealthCheck `json:"active,omitempty"`

	// Passive ejects endpoints whose responses are errors. By default an endpoint is ejected that cannot be reached ten times in a row.
	//
	// +optional
	Passive *PassiveHealthCheck `json:"passive,omitempty"`

	// PanicThreshold sends requests to all endpoints if fewer than this percentage of them are healthy. 0 never does. The default is 1.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	PanicThreshold *int32 `json:"panicThreshold,omitempty"`
}

// PassiveHealthCheck ejects endpoints whose responses are errors.
type PassiveHealthCheck struct {
	// SplitExternalLocalOriginErrors counts failures to connect apart from errors in responses. The default is false.
	//
	// +optional
	SplitExternalLocalOriginErrors *bool `json:"splitExternalLocalOriginErrors,omitempty"`

	// Interval is the time between looks at all endpoints. The default is 3s.
	//
	// +optional
	Interval *gwv1.Duration `json:"interval,omitempty"`

	// ConsecutiveLocalOriginFailures is how many failures to connect in a row eject an endpoint, with splitExternalLocalOriginErrors. The
	// default is 5.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	ConsecutiveLocalOriginFailures *int32 `json:"consecutiveLocalOriginFailures,omitempty"`

	// ConsecutiveGatewayErrors is how many responses 502, 503 and 504 in a row eject an endpoint. By default none do.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	ConsecutiveGatewayErrors *int32 `json:"consecutiveGatewayErrors,omitempty"`

	// Consecutive5xxErrors is how many responses 5xx in a row eject an endpoint. The default is 5.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	Consecutive5xxErrors *int32 `json:"consecutive5XxErrors,omitempty"`

	// BaseEjectionTime is how long an endpoint is ejected, times the number of ejections in a row. The default is 30s.
	//
	// +optional
	BaseEjectionTime *gwv1.Duration `json:"baseEjectionTime,omitempty"`

	// MaxEjectionPercent is how many of the endpoints may be ejected. The default is 10.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxEjectionPercent *int32 `json:"maxEjectionPercent,omitempty"`

	// FailurePercentageThreshold ejects an endpoint of whose responses this percentage are 5xx. By default none are ejected for that.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	FailurePercentageThreshold *int32 `json:"failurePercentageThreshold,omitempty"`

	// AlwaysEjectOneEndpoint ejects one endpoint even if that is more than maxEjectionPercent. The default is false.
	//
	// +optional
	AlwaysEjectOneEndpoint *bool `json:"alwaysEjectOneEndpoint,omitempty"`
}

// ActiveHealthCheck asks endpoints whether they are healthy.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'HTTP' ? has(self.http) : !has(self.http)",message="set http for type HTTP, and for no other"
// +kubebuilder:validation:XValidation:rule="self.type == 'TCP' ? has(self.tcp) : !has(self.tcp)",message="set tcp for type TCP, and for no other"
// +kubebuilder:validation:XValidation:rule="!has(self.grpc) || self.type == 'GRPC'",message="set grpc for type GRPC only"
type ActiveHealthCheck struct {
	// Timeout is how long an answer may take. The default is 1s. With initialJitter it is at most 5s, because a proxy takes no other change
	// until the first question about each endpoint is answered.
	//
	// +optional
	Timeout *gwv1.Duration `json:"timeout,omitempty"`

	// Interval is the time between questions, at least 100ms. The default is 3s.
	//
	// +optional
	Interval *gwv1.Duration `json:"interval,omitempty"`

	// InitialJitter is the longest wait before the first question.
	//
	// +optional
	InitialJitter *gwv1.Duration `json:"initialJitter,omitempty"`

	// UnhealthyThreshold is how many failed questions make an endpoint unhealthy. For HTTP, a status that is not retriable does so at once.
	// The default is 3.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	UnhealthyThreshold *int32 `json:"unhealthyThreshold,omitempty"`

	// HealthyThreshold is how many questions have to be answered before an endpoint is healthy again. The default is 1.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	HealthyThreshold *int32 `json:"healthyThreshold,omitempty"`

	// Type is how endpoints are asked. GRPC has an effect on backends that speak HTTP/2.
	//
	// +required
	Type ActiveHealthCheckType `json:"type"`

	// HTTP asks by HTTP.
	//
	// +optional
	HTTP *HTTPHealthCheck `json:"http,omitempty"`

	// TCP connects, and may send and expect bytes.
	//
	// +optional
	TCP *TCPHealthCheck `json:"tcp,omitempty"`

	// GRPC asks by the health checking protocol of gRPC.
	//
	// +optional
	GRPC *GRPCHealthCheck `json:"grpc,omitempty"`

	// Overrides change where endpoints are asked.
	//
	// +optional
	Overrides *HealthCheckOverrides `json:"overrides,omitempty"`

	// HealthCheckLog logs what health checks find.
	//
	// +optional
	HealthCheckLog *HealthCheckLog `json:"healthCheckLog,omitempty"`
}

// ActiveHealthCheckType is how endpoints are asked.
//
// +kubebuilder:validation:Enum=HTTP;TCP;GRPC
type ActiveHealthCheckType string

// The types of health checks.
const (
	HealthCheckHTTP ActiveHealthCheckType = "HTTP"
	HealthCheckTCP  ActiveHealthCheckType = "TCP"
	HealthCheckGRPC ActiveHealthCheckType = "GRPC"
)

// HTTPHealthCheck asks by HTTP.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requestBody) || has(self.method) && self.method in ['POST','PUT']",message="requestBody needs method POST or PUT"
type HTTPHealthCheck struct {
	// Hostname is the Host header. The default is the name of the backend.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	Hostname *string `json:"hostname,omitempty"`

	// Path is requested.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Path string `json:"path"`

	// Method is that of the request. The default is GET.
	//
	// +kubebuilder:validation:Enum=GET;HEAD;POST;PUT;DELETE;OPTIONS;TRACE;PATCH
	// +optional
	Method *string `json:"method,omitempty"`

	// Unknown fields are kept, so that the message about a range says which type is right, and not that its fields are unknown.

	// ExpectedStatuses are those of a healthy endpoint, one by one. A range is rejected. The default is 200.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	ExpectedStatuses []HTTPStatus `json:"expectedStatuses,omitempty"`

	// RetriableStatuses count for unhealthyThreshold. Any other status that is not expected makes an endpoint unhealthy at once.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	RetriableStatuses []HTTPStatus `json:"retriableStatuses,omitempty"`

	// ExpectedResponse must be in the body of the response.
	//
	// +optional
	ExpectedResponse *HealthCheckPayload `json:"expectedResponse,omitempty"`

	// RequestBody is sent with the request.
	//
	// +optional
	RequestBody *HealthCheckPayload `json:"requestBody,omitempty"`
}

// TCPHealthCheck connects, and may send and expect bytes.
type TCPHealthCheck struct {
	// Send is sent once connected.
	//
	// +optional
	Send *HealthCheckPayload `json:"send,omitempty"`

	// Receive must be in what the endpoint sends.
	//
	// +optional
	Receive *HealthCheckPayload `json:"receive,omitempty"`
}

// GRPCHealthCheck asks by the health checking protocol of gRPC.
type GRPCHealthCheck struct {
	// Service is asked about. The default is the server as a whole.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Service *string `json:"service,omitempty"`
}

// HealthCheckOverrides change where endpoints are asked.
type HealthCheckOverrides struct {
	// Port is asked instead of the port of the endpoint.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port *int32 `json:"port,omitempty"`
}

// HealthCheckPayload is bytes.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'Text' ? has(self.text) && !has(self.binary) : has(self.binary) && !has(self.text)",message="set text for type Text and binary for type Binary"
type HealthCheckPayload struct {
	// Type is how the bytes are written.
	//
	// +kubebuilder:validation:Enum=Text;Binary
	// +required
	Type string `json:"type"`

	// Text is the bytes as text.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Text *string `json:"text,omitempty"`

	// Binary is the bytes in base64.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Binary []byte `json:"binary,omitempty"`
}

// HealthCheckLog logs what health checks find.
type HealthCheckLog struct {
	// Sinks is where events are written. The default is the standard output of proxies.
	//
	// +kubebuilder:validation:MaxItems=1
	// +listType=atomic
	// +optional
	Sinks []HealthCheckLogSink `json:"sinks,omitempty"`

	// Matches are what is logged. The default is every answer.
	//
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Matches []HealthCheckLogEvent `json:"matches,omitempty"`
}

// HealthCheckLogEvent is what is logged. Failure and Success are every answer, FailureSeriesStart and HealthyTransition changes only.
//
// +kubebuilder:validation:Enum=Failure;FailureSeriesStart;Success;HealthyTransition
type HealthCheckLogEvent string

// The events that can be logged.
const (
	HealthCheckLogFailure HealthCheckLogEvent = "Failure"
	HealthCheckLogSuccess HealthCheckLogEvent = "Success"
)

// HealthCheckLogSink is where events are written.
type HealthCheckLogSink struct {
	// Type is File.
	//
	// +kubebuilder:validation:Enum=File
	// +required
	Type string `json:"type"`

	// File is /dev/stdout or /dev/stderr.
	//
	// +required
	File HealthCheckLogFile `json:"file"`
}

// HealthCheckLogFile is the standard output or the standard error of proxies.
type HealthCheckLogFile struct {
	// Path is /dev/stdout or /dev/stderr.
	//
	// +kubebuilder:validation:Enum=/dev/stdout;/dev/stderr
	// +required
	Path string `json:"path"`
}
