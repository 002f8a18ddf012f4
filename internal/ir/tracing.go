package ir

// Tracing is which requests become spans, what is in them, and who gets them.
type Tracing struct {
	// Backend receives OTLP by gRPC, with these headers.
	Backend Backend
	Headers []Header
	// Service is the name of the service that spans are from, and Span what each is called, empty for the proxy's own choice.
	Service string
	Span    string
	// Rate is the share of requests that become spans if no decision was made before.
	Rate Fraction
	// FollowParent leaves the decision to the sender of the request, if it was made there. ParentRate is the share of those that are to
	// become spans which do.
	FollowParent bool
	ParentRate   Fraction
	Attributes   []SpanAttribute
	// Origin is the policy that decides, zero if it is the parameters of the Gateway.
	Origin ObjectRef `json:"-"`
}

// Fraction is a share of a whole.
type Fraction struct {
	Numerator   uint32
	Denominator uint32
}

// Whole says that nothing is left out.
func (f Fraction) Whole() bool { return f.Numerator == f.Denominator }

// SpanAttribute is one thing that a span says. Exactly one of the fields beside Name is set.
type SpanAttribute struct {
	Name string
	// Literal is said of every request, Header is a header of the request, and Key is an attribute of OpenTelemetry, see [SpanKeys].
	Literal string
	Header  string
	Key     string
}

// RequestHeaderKey and ResponseHeaderKey stand before the name of a header, in lower case, in a key.
const (
	RequestHeaderKey  = "http.request.header."
	ResponseHeaderKey = "http.response.header."
)

// SpanKeys are the stable attributes of OpenTelemetry that a proxy knows about a request, beside headers.
var SpanKeys = []string{
	"client.address", "client.port", "http.request.method", "http.request.method_original", "http.response.status_code",
	"network.peer.address", "network.peer.port", "network.protocol.name", "network.protocol.version", "network.transport",
	"server.address", "server.port", "url.full", "url.path", "url.query", "url.scheme", "user_agent.original",
}
