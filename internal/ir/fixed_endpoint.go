package ir

// FixedEndpoint is an endpoint that a user lists.
type FixedEndpoint struct {
	// Name is resolved by DNS, Address is an IP address, and Path a Unix socket. Exactly one of them is set.
	Name, Address, Path string
	// Port is that of a Name or an Address.
	Port int32
	// Hostname is what the endpoint is called in TLS and in a rewritten host; empty for nothing. Zone is where it is, empty if that is not
	// known.
	Hostname, Zone string
}
