package ir

// ClientValidation is how clients prove who they are while TLS is set up.
type ClientValidation struct {
	// Authorities names the bundle that a client's certificate must be signed by, see [Authorities].
	Authorities string
	// Fallback lets clients in whose certificate is missing or is not to be trusted.
	Fallback bool
}
