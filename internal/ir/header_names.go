package ir

// ConnectionHeaders are the headers that are about one connection, or about the length of one message, in lower case and sorted. A proxy
// that lets others set them is open to request smuggling.
var ConnectionHeaders = []string{
	"connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

// Headers by which proxies tell each other about a client: one, and the beginnings of the names of the others.
const (
	ForwardedHeader       = "forwarded"
	ForwardedHeaderPrefix = "x-forwarded-"
	// EnvoyHeaderPrefix is for those that only Envoy writes and reads.
	EnvoyHeaderPrefix = "x-envoy-"
)

// ScopeClaims are the claims of a token that list scopes, separated by spaces.
var ScopeClaims = []string{"scope", "scp"}

// RequestOrigin is Envoy's format for the scheme and the host of a request.
const RequestOrigin = "%REQ(x-forwarded-proto)%://%REQ(:authority)%"
