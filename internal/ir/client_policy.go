package ir

import "time"

// ClientPolicy is how the connections and requests of clients are treated at a chain. The zero value of each field is the default.
// Chains with the same settings share one value.
type ClientPolicy struct {
	Address  ClientAddress
	TLS      ClientTLS
	Path     ClientPath
	Headers  ClientHeaders
	Timeouts ClientTimeouts
	Limits   ClientLimits
	HTTP1    ClientHTTP1
	HTTP2    ClientHTTP2
	// HTTP3 serves HTTP/3 as well, see [Port.HTTP3].
	HTTP3 bool
	// GRPCWeb translates gRPC-Web for every host.
	GRPCWeb bool
	// HealthCheckPath is answered by the proxy itself.
	HealthCheckPath string
	// SchemeOfBackend sets the scheme of requests to that of the connection to the backend.
	SchemeOfBackend bool
	// Origins are the policies that the settings come from, those of the socket too, sorted.
	Origins []ObjectRef
	// FailClosed says why no connection can be served: a security setting cannot be resolved.
	FailClosed bool
}

// What becomes of x-request-id.
const (
	RequestIDGenerate           = "Generate"
	RequestIDPreserve           = "Preserve"
	RequestIDPreserveOrGenerate = "PreserveOrGenerate"
	RequestIDDisable            = "Disable"
)

// ClientAddress is where the address of the client is found. The zero value is the connection.
type ClientAddress struct {
	// TrustedHops is how many trusted proxies send X-Forwarded-For.
	TrustedHops uint32
	// TrustedCIDRs are the addresses of trusted proxies.
	TrustedCIDRs []string
	// Header has the address. RejectMissing answers 403 without it.
	Header        string
	RejectMissing bool
	// KeepForwardedFor does not add the address of the connection to X-Forwarded-For.
	KeepForwardedFor bool
}

// ClientTLS are settings of TLS that the listener terminates.
type ClientTLS struct {
	// MinVersion and MaxVersion are `1.0` to `1.3`.
	MinVersion, MaxVersion string
	Ciphers                []string
	Curves                 []string
	SignatureAlgorithms    []string
	// ALPN is nil for the default.
	ALPN *[]string
	// Resumption is nil for the default.
	Resumption *TLSResumption
	// Clients replaces what the listener asks of clients, nil for nothing.
	Clients *ClientValidation
}

// TLSResumption is how TLS sessions can be resumed.
type TLSResumption struct{ Stateless, Stateful bool }

// ClientPath is how paths are normalized.
type ClientPath struct {
	// EscapedSlashes is an action of the API, empty for the default.
	EscapedSlashes string
	KeepSlashes    bool
}

// ClientHeaders is how headers are treated.
type ClientHeaders struct {
	// EnvoyHeaders sends `x-envoy-` headers to clients and backends.
	EnvoyHeaders bool
	// Forwarded is what happens to x-forwarded-client-cert, a mode of the API; empty removes it. ForwardedDetails are details of the API.
	Forwarded        string
	ForwardedDetails []string
	// Underscores is an action of the API, empty for the default.
	Underscores string
	// RequestID is an action of the API, empty for the default.
	RequestID string
	Early     *HeaderMutation
	Late      *HeaderMutation
	// KeepHostDot keeps a dot at the end of the host.
	KeepHostDot bool
	// MaxKiB is the size of all headers of a request, zero for the default.
	MaxKiB uint32
}

// HeaderMutation changes headers.
type HeaderMutation struct {
	Set, Add, AddIfAbsent []Header
	Remove                []string
	RemoveOnMatch         []StringMatch
}

// ClientTimeouts are timeouts; nil is the default, and zero none.
type ClientTimeouts struct {
	Request, RequestHeaders, Idle, StreamIdle, StreamConnectionIdle, Handshake *time.Duration
}

// ClientLimits bounds connections. Zero is no limit.
type ClientLimits struct {
	// Connections is how many connections a proxy has open at the chain. CloseDelay is how long it keeps those beyond open.
	Connections int64
	CloseDelay  time.Duration
	// ConnectionDuration is nil for the default.
	ConnectionDuration    *time.Duration
	RequestsPerConnection uint32
	StreamDuration        time.Duration
}

// ClientHTTP1 are settings of HTTP/1.
type ClientHTTP1 struct {
	Trailers, PreserveCase bool
	// DefaultHost is for requests of HTTP/1.0 without a host, empty for the default.
	DefaultHost string
	// UnsafeMaxDuration closes a connection soon after its duration is over.
	UnsafeMaxDuration bool
	IgnoredUpgrades   []StringMatch
}

// ClientHTTP2 are settings of HTTP/2. Zero is the default.
type ClientHTTP2 struct {
	StreamWindow, ConnectionWindow, MaxStreams uint32
	// CloseOnInvalid closes the connection of an invalid message.
	CloseOnInvalid bool
	Keepalive      *HTTP2Keepalive
}

// HTTP2Keepalive sends PING frames. Zero is the default.
type HTTP2Keepalive struct {
	Interval, Timeout, Idle time.Duration
	// Jitter is a percentage, nil for the default.
	Jitter *int32
}

// SocketPolicy is how the connections of a port are accepted, whichever chain they take. The zero value of each field is the default.
type SocketPolicy struct {
	Keepalive *TCPKeepalive
	// Proxy is nil where the PROXY protocol is not expected.
	Proxy             *ProxyProtocol
	BufferLimit       uint32
	SocketBufferLimit uint32
	// MaxAccept is nil for the default, and zero for no limit.
	MaxAccept *uint32
	// InspectionTimeout is nil for the default.
	InspectionTimeout *time.Duration
	// JA3 and JA4 compute fingerprints of clients.
	JA3, JA4 bool
}

// TCPKeepalive sends probes on idle connections. Zero is the kernel's default.
type TCPKeepalive struct {
	Probes         uint32
	Idle, Interval time.Duration
}

// ProxyProtocol expects the PROXY protocol.
type ProxyProtocol struct {
	// Optional also serves connections without it.
	Optional bool
}
