package ir

// AccessLogType is where and how requests are written down.
type AccessLogType string

// The types of access logs: a line of JSON or of text on standard output, or a record that is sent to a backend.
const (
	LogJSON AccessLogType = "JSON"
	LogText AccessLogType = "Text"
	LogOTLP AccessLogType = "OTLP"
)

// AccessLog writes down requests, and connections that are not looked into.
type AccessLog struct {
	Type AccessLogType
	// Fields are what is said about a request, in Envoy's format, and Format the line of text; empty for the default.
	Fields map[string]string
	Format string
	// MinimumStatus leaves out requests with a lower status; zero leaves out none.
	MinimumStatus uint32
	// Backend is a [Backend.Name] that takes OTLP by gRPC.
	Backend string
}

// LogCommands are what a field or a line of an access log can say about a request, besides headers.
var LogCommands = []string{
	"BYTES_RECEIVED", "BYTES_SENT", "CONNECTION_ID", "CONNECTION_TERMINATION_DETAILS", "DOWNSTREAM_DIRECT_REMOTE_ADDRESS",
	"DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT", "DOWNSTREAM_LOCAL_ADDRESS", "DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT", "DOWNSTREAM_LOCAL_PORT",
	"DOWNSTREAM_PEER_SUBJECT", "DOWNSTREAM_PEER_URI_SAN", "DOWNSTREAM_REMOTE_ADDRESS", "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT", "DOWNSTREAM_REMOTE_PORT",
	"DOWNSTREAM_TLS_CIPHER", "DOWNSTREAM_TLS_VERSION", "DURATION", "HOSTNAME", "PROTOCOL", "REQUESTED_SERVER_NAME", "REQUEST_DURATION", "RESPONSE_CODE",
	"RESPONSE_CODE_DETAILS", "RESPONSE_DURATION", "RESPONSE_FLAGS", "RESPONSE_FLAGS_LONG", "RESPONSE_TX_DURATION", "ROUTE_NAME", "START_TIME", "STREAM_ID",
	"TRACE_ID", "UPSTREAM_CLUSTER", "UPSTREAM_HOST", "UPSTREAM_LOCAL_ADDRESS", "UPSTREAM_REQUEST_ATTEMPT_COUNT", "UPSTREAM_TRANSPORT_FAILURE_REASON",
}

// LogHeaderCommands name a header of the request, the answer or its trailers, as `REQ(name)` or `REQ(name?other)`.
var LogHeaderCommands = []string{"REQ", "RESP", "TRAILER"}
