package ir

// ResponseOverride replaces responses. Of several the first that matches is used.
type ResponseOverride struct {
	// Codes of which one must match, none for any, and Headers that all must match.
	Codes   []CodeRange
	Headers []NamedMatch
	// Local is nil for all responses, true for those of the proxy, and false for those of backends.
	Local *bool
	// StatusCode is 0 to keep that of the response.
	StatusCode uint32
	// Body and the values of Edit are formats of Envoy.
	Body        string
	ContentType string
	Edit        *HeaderFormats
}

// CodeRange is the statuses from First to Last.
type CodeRange struct{ First, Last uint32 }

// The variables that [RequestPolicy.StatPrefix] may have.
const (
	StatRouteKind      = "%ROUTE_KIND%"
	StatRouteNamespace = "%ROUTE_NAMESPACE%"
	StatRouteName      = "%ROUTE_NAME%"
)

// RouteTelemetry is what is recorded of the requests of a rule.
type RouteTelemetry struct {
	// Sampling, ClientSampling and OverallSampling are nil for what the listener has.
	Sampling, ClientSampling, OverallSampling *Fraction
	// Attributes of spans, in the order of their names. Values with Format are formats of Envoy.
	Attributes []RouteAttribute
	// ServerSpan and ClientSpan are formats of Envoy for the names of spans, empty for what the listener has.
	ServerSpan, ClientSpan string
}

// RouteAttribute is an attribute of spans. Exactly one of Literal, Header and Format is set.
type RouteAttribute struct {
	Name                    string
	Literal, Header, Format string
	// Default is for requests without the header.
	Default string
}
