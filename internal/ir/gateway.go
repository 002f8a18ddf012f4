package ir

// Gateway is one proxy fleet: the ports it opens and how it is run.
type Gateway struct {
	Name  Name
	Fleet Fleet
	// Ports is sorted by number.
	Ports []Port
}

// Fleet is how a Gateway's proxies are run.
type Fleet struct {
	// Name is the name of the fleet's objects, see [FleetName].
	Name string
	// UID is the Gateway's, so that the fleet's objects are owned by it and leave with it.
	UID string
	// Class is the name of the GatewayClass.
	Class string
	// Labels and Annotations are those the Gateway asks for on every object of its fleet.
	Labels      map[string]string
	Annotations map[string]string
	// Addresses are the static IP addresses the Gateway asks for.
	Addresses []string
}

// Protocol is what a port speaks to clients.
type Protocol string

// The protocols a port can speak.
const (
	HTTP  Protocol = "HTTP"
	HTTPS Protocol = "HTTPS"
)

// Port is one socket of a fleet. Listeners of a Gateway that share a port number become chains of one Port.
type Port struct {
	Number   int32
	Protocol Protocol
	// Chains holds exactly one element for HTTP; for HTTPS one for each listener, sorted by listener name.
	Chains []Chain
}

// Chain is what happens to the connections of a port that ask for one of ServerNames.
type Chain struct {
	// Name is unique within its Port.
	Name string
	// ServerName is the TLS server name (exact or `*.suffix`) that selects the chain; empty selects what no other chain does.
	ServerName string
	// Certificates names the key pairs to offer, see [Certificate]; empty for plain text.
	Certificates []string
	// Clients says which certificates clients have to show; nil asks for none.
	Clients *ClientValidation
	// RouteTable names the table whose virtual hosts answer here.
	RouteTable string
}

// Certificate is a key pair, held apart from the chains that offer it so that rotating it changes nothing else.
type Certificate struct {
	// Name is the Secret's `namespace/name`.
	Name string
	// CertificatePEM and PrivateKeyPEM have been parsed and found to belong together. They never go to a log.
	CertificatePEM []byte
	PrivateKeyPEM  []byte
}
