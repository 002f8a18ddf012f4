package ir

import "time"

// ExternalAuth asks a backend about each request before anything else happens to it. A request that the backend refuses, and any
// request while it cannot be asked, goes no further.
type ExternalAuth struct {
	Guard Guard `json:",omitempty"`
	// Backend is zero if it cannot be resolved.
	Backend Backend
	// GRPC speaks Envoy's own protocol to the backend, otherwise a copy of the request's head is sent as HTTP.
	GRPC bool
	// PathPrefix goes before the path of a request that is sent as HTTP.
	PathPrefix string
	// RequestHeaders are the headers that the backend sees, in lower case and sorted. Without any, it sees all by gRPC, and by HTTP only
	// those that are always sent.
	RequestHeaders []string
	// ResponseHeaders are the headers of an answer by HTTP that are set on the request, in lower case and sorted; without any, all are.
	ResponseHeaders []string
	// NoResponseHeaders sets none of them.
	NoResponseHeaders bool
	// PathOverride is sent instead of the path of a request, if it is not empty.
	PathOverride string
	// Timeout bounds one question, zero for the default.
	Timeout time.Duration
	// StatusOnError is answered while the backend does not answer, zero for the default. FailOpen lets the request pass instead.
	StatusOnError uint32
	FailOpen      bool
	// Reroute chooses the rule again with the headers that the backend sets.
	Reroute bool
	// RouteMetadata tells the backend which route a request is for, by gRPC.
	RouteMetadata bool `json:",omitempty"`
	// Context is what the backend sees beside the request, by gRPC, sorted by name.
	Context []ContextValue `json:",omitempty"`
	// MaxBody is how large a body is forwarded to the backend, zero for none. A request with a larger one is refused.
	MaxBody uint32
}

// ContextValue is a value that an authorization server sees beside each request.
type ContextValue struct {
	Name  string
	Value Sensitive
	// Secret says that the value is that of a Secret.
	Secret bool `json:",omitempty"`
}

// AsksWithContext says whether an authorization server is asked that sees values beside the request.
func (p *RequestPolicy) AsksWithContext() bool {
	return p != nil && p.Auth != nil && p.Auth.Guard == Enforced && len(p.Auth.Context) > 0
}
