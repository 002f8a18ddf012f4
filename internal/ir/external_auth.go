package ir

// ExternalAuth asks a backend about each request before anything else happens to it. A request that the backend refuses, and any
// request while it can not be asked, goes no further.
type ExternalAuth struct {
	// Backend is a [Backend.Name].
	Backend string
	// GRPC speaks Envoy's own protocol to the backend, otherwise a copy of the request's head is sent as HTTP.
	GRPC bool
	// PathPrefix goes before the path of a request that is sent as HTTP.
	PathPrefix string
	// RequestHeaders are the headers that the backend sees, in lower case and sorted. Without any, it sees all by gRPC, and by HTTP only
	// those that are always sent.
	RequestHeaders []string
	// ResponseHeaders are the headers of an answer by HTTP that are set on the request, in lower case and sorted; without any, all are.
	ResponseHeaders []string
	// MaxBody is how large a body is forwarded to the backend, zero for none. A request with a larger one is refused.
	MaxBody uint32
}
