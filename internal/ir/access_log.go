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
	// Backend receives OTLP by gRPC, with these headers.
	Backend Backend
	Headers []Header
}
