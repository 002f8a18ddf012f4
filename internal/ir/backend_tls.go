package ir

// BackendTLS is how the connections to a backend are secured. Nil means plain text.
type BackendTLS struct {
	// FailClosed says that TLS was requested in a way that cannot be served. The backend then gets no connection, and none in plain text.
	FailClosed bool
	// ServerName is the name the proxy asks the backend for (SNI).
	ServerName string
	// SubjectNames are the names of which the backend's certificate must have at least one.
	SubjectNames []SubjectName
	// Authorities names the bundle that the backend's certificate must be signed by, see [Authorities]; empty means the system's own.
	Authorities string
	// ClientCertificate names the key pair that the proxy shows to the backend, see [Certificate]; empty means none.
	ClientCertificate string
	// Origin is the object that the settings come from.
	Origin ObjectRef
	// Inline says that the backend itself asks for all this, so that a Gateway adds nothing.
	Inline bool
	// Settings are those that only Backends have, nil for the defaults.
	Settings *BackendTLSSettings
}

// NameSource is where the name comes from that a proxy asks a backend for, and that the certificate must have.
type NameSource string

// The sources of a name.
const (
	// NameFixed is the ServerName.
	NameFixed NameSource = ""
	// NameOfRequest is the host of each request.
	NameOfRequest NameSource = "request"
	// NameOfEndpoint is the hostname of the endpoint.
	NameOfEndpoint NameSource = "endpoint"
)

// BackendTLSSettings are details of the connections to a backend. Empty values are the defaults.
type BackendTLSSettings struct {
	NameOf NameSource
	// SkipVerify trusts every certificate.
	SkipVerify             bool
	MinVersion, MaxVersion string
	Ciphers                []string
	Curves                 []string
	SignatureAlgorithms    []string
	// ALPN is nil for the protocol that is spoken.
	ALPN *[]string
}

// SubjectName is a subject alternative name of a certificate: a hostname or a URI.
type SubjectName struct {
	URI   bool
	Value string
}

// Authorities is a bundle of certificates of authorities, held apart from the backends it is used for so that rotating it changes nothing
// else.
type Authorities struct {
	Name string
	// PEM has been parsed, and holds certificates only.
	PEM []byte
	// Revocations has certificate revocation lists, in the same way; empty for none.
	Revocations []byte
}
