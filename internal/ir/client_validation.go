package ir

// ClientValidation is how clients prove who they are while TLS is set up.
type ClientValidation struct {
	// Authorities names the bundle that a client's certificate must be signed by, see [Authorities].
	Authorities string
	// OnlyLeaf compares the certificate of the client alone with the revocation lists of the bundle, and not those of its issuers.
	OnlyLeaf bool `json:",omitempty"`
	// Fallback accepts clients whose certificate is not to be trusted. Without Optional they still have to show one.
	Fallback bool
	// Optional accepts clients without a certificate.
	Optional bool
	// AllowExpired accepts certificates whose time is over.
	AllowExpired bool
	// SPKIHashes and CertificateHashes are those of the only certificates that are accepted; empty for all.
	SPKIHashes, CertificateHashes []string
	// Names are those of which a certificate must have one; empty for any.
	Names []SubjectAltName
}

// The kinds of names in a certificate.
const (
	SANDNS   = "DNS"
	SANEmail = "EMAIL"
	SANIP    = "IP_ADDRESS"
	SANURI   = "URI"
	SANOther = "OTHER_NAME"
)

// SubjectAltName is a name that a certificate may have. OID is the type of another name.
type SubjectAltName struct {
	Kind, OID string
	Match     StringMatch
}
