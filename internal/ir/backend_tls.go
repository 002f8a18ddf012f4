package ir

// BackendTLS is how the connections to a backend are secured. Nobody asked for any where it is nil.
type BackendTLS struct {
	// Refused says that TLS was asked for in a way that can not be served. The backend then gets no connection at all, and certainly none in plain text.
	Refused bool
	// ServerName is the name the proxy asks the backend for (SNI).
	ServerName string
	// SubjectNames are the names of which the backend's certificate must have at least one.
	SubjectNames []SubjectName
	// Authorities names the bundle that the backend's certificate must be signed by, see [Authorities]; empty means the system's own.
	Authorities string
	// ClientCertificate names the key pair that the proxy shows to the backend, see [Certificate]; empty means none.
	ClientCertificate string
	// Origin is the object that asks for it, as `<kind>/<namespace>/<name>`.
	Origin string
	// Inline says that the backend itself asks for all this, so that a Gateway adds nothing.
	Inline bool
}

// SubjectName is a subject alternative name of a certificate: a hostname or a URI.
type SubjectName struct {
	URI   bool
	Value string
}

// Authorities is a bundle of certificates of authorities, held apart from the backends it is used for so that rotating it changes nothing else.
type Authorities struct {
	Name string
	// PEM has been parsed, and holds certificates only.
	PEM []byte
}
