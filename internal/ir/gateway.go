package ir

import (
	"cmp"
	"strconv"
	"time"
)

// Gateway is one proxy fleet: the ports it opens and how it is run.
type Gateway struct {
	Name  Name
	Fleet Fleet
	// Ports is sorted by number.
	Ports []Port
}

// Fleet is how a Gateway's proxies are run.
type Fleet struct {
	// Suspended says that it is not known what the proxies are to serve. They stay as they are, and none is let in to learn that there is
	// nothing.
	Suspended bool
	// Name is the name of the fleet's objects, see [FleetName] and [SystemFleetName].
	Name string
	// OtherNamespace is the namespace that they are in, where it is not the Gateway's own: then the Gateway cannot own them.
	OtherNamespace string
	// Placed is the namespace that the class has the proxies run in, [NoNamespace] if they cannot run there, and empty while it is unknown.
	// It differs from where the objects are only for a fleet that is held as it was found. Proxies in another namespace are given nothing,
	// see [github.com/gatewright/gatewright/internal/identity.Fleets].
	Placed string
	// Shared is the fleet whose proxies serve the Gateway, and others with it, see [SharedFleet]; nothing where it has proxies of its own.
	// Then a Service is all that the Gateway has for itself.
	Shared Name
	// UID is the Gateway's, so that the fleet's objects are owned by it and leave with it.
	UID string
	// Class is the name of the GatewayClass.
	Class string
	// Labels and Annotations are those the Gateway asks for on every object of its fleet.
	Labels      map[string]string
	Annotations map[string]string
	// Addresses are the static IP addresses the Gateway asks for.
	Addresses []string
	// InCluster asks for an address inside the cluster, and InClusterOnly for no other.
	InCluster     bool
	InClusterOnly bool
	// ClusterAddresses are the static IP addresses the Gateway asks for inside the cluster.
	ClusterAddresses []string
	// Proxies is what the parameters of the Gateway and its class say.
	Proxies Proxies
	// Delivery is how configuration reaches the proxies.
	Delivery Delivery
	// Installation is which of several installations of Gatewright runs the fleet, empty for the one with the default controller name.
	Installation string
}

// NoNamespace is not a valid name of a namespace.
const NoNamespace = "-"

// SharedFleet is what the fleet goes by that all Gateways of a class share: the name of the class, which is in no namespace. As a
// [Gateway] it has no ports; those whom it serves bring theirs.
func SharedFleet(class string) Name { return Name{Name: class} }

// Group is who the proxies serve: the Gateway, or all who share them.
func (g Gateway) Group() Name {
	if g.Fleet.Shared != (Name{}) {
		return g.Fleet.Shared
	}
	return g.Name
}

// FleetNamespace is the namespace that the fleet's objects are in.
func (g Gateway) FleetNamespace() string { return cmp.Or(g.Fleet.OtherNamespace, g.Name.Namespace) }

// What says whose an object is that no Gateway can own: a label with the Gateway's UID, and an annotation with its name. For a
// [SharedFleet] they are those of the class. They count in Gatewright's namespace alone, where no other user writes.
const (
	OwnerLabel      = "gatewright.dev/gateway-uid"
	OwnerAnnotation = "gatewright.dev/gateway"
)

// ManagedByLabel is [ManagedBy] on every object that Gatewright makes.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "gatewright"
)

// ReadyPort is where every proxy answers its readiness probe, and serves its metrics. No listener can have it.
const ReadyPort = 19001

// InstanceLabel holds the name of the fleet on its pods, so that a Service finds them.
const InstanceLabel = "app.kubernetes.io/instance"

// Protocol is what a port speaks to clients.
type Protocol string

// The protocols a port can speak.
const (
	HTTP  Protocol = "HTTP"
	HTTPS Protocol = "HTTPS"
	TLS   Protocol = "TLS"
	TCP   Protocol = "TCP"
	UDP   Protocol = "UDP"
	// QUIC is HTTP/3, beside HTTPS at the TCP port of the same number.
	QUIC Protocol = "QUIC"
)

// Datagrams says whether the socket is one of UDP.
func (p Protocol) Datagrams() bool { return p == UDP || p == QUIC }

// ChoosesByName says whether the TLS server name a client asks for chooses the chain.
func (p Protocol) ChoosesByName() bool { return p == HTTPS || p == TLS || p == QUIC }

// Port is one socket of a fleet. Listeners of a Gateway that share a socket become chains of one Port.
type Port struct {
	Number int32
	// Protocol is HTTPS where listeners of HTTPS and TLS share the socket.
	Protocol Protocol
	// Chains are sorted by name. There is at most one but for HTTPS and TLS.
	Chains []Chain
	// Logs is how what happens here is written down; nil is the default, and an empty list not at all.
	Logs []AccessLog
	// LoggedAs is the Gateway's name in what is written down, where proxies serve several; empty otherwise.
	LoggedAs string
	// TargetPort is where the proxies listen in truth, because they open the same port for other Gateways too; zero for Number.
	TargetPort int32
	// CountBackends has the answers of each backend be counted.
	CountBackends bool
	// OnNodes opens the port on the nodes that proxies run on.
	OnNodes bool
	// Accept is how connections are accepted where that differs from the defaults, nil where it does not.
	Accept *SocketPolicy
}

// Socket is the port at which the proxies listen.
func (p Port) Socket() int32 { return cmp.Or(p.TargetPort, p.Number) }

// ID tells the ports of a Gateway apart: the number, with `/udp` behind it for what is no TCP port of the same number.
func (p Port) ID() string {
	id := strconv.Itoa(int(p.Number))
	if p.Protocol.Datagrams() {
		id += datagrams
	}
	return id
}

// datagrams stands behind the number of a port that is no TCP port.
const datagrams = "/udp"

// Chain is what happens to the connections of a port that ask for ServerName. Without a RouteTable and without a Stream they are closed.
type Chain struct {
	// Name is unique within its Port. It is the ID of the listener, if Listener does not say another.
	Name     string
	Listener string
	// ServerName is the TLS server name (exact or `*.suffix`) that selects the chain; empty selects what no other chain does.
	ServerName string
	// Certificates names the key pairs to offer, see [Certificate]; empty for plain text.
	Certificates []string
	// Clients says which certificates clients have to show; nil asks for none.
	Clients *ClientValidation
	// RouteTable has the virtual hosts that answer here.
	RouteTable TableID
	// Filters is how many filters requests may have to pass before a route is chosen, see [VirtualHost.Filters]. There may be fewer: a
	// change of the number drains connections.
	Filters int
	// Extensions says that requests may pass code of users, see [Rule.Extensions].
	Extensions bool
	// ByHost says that each virtual host of the table is looked up by itself.
	ByHost bool
	// Stream forwards whole connections instead.
	Stream *Stream
	// Policy is how connections and requests are treated where that differs from the defaults, nil where it does not.
	Policy *ClientPolicy
	// Own says that a TLSRoute has the hostname of the listener itself.
	Own bool
}

// Client is the policy of the chain, or the defaults.
func (c *Chain) Client() ClientPolicy {
	if c.Policy == nil {
		return ClientPolicy{}
	}
	return *c.Policy
}

// Closed is the chain if it closes its connections. It keeps its server name, so that no wider chain gets them.
func (c *Chain) Closed() Chain { return Chain{Name: c.Name, ServerName: c.ServerName} }

// Certificate is a key pair, held apart from the chains that offer it so that rotating it changes nothing else.
type Certificate struct {
	// Name is the Secret's `namespace/name`.
	Name string
	// NotBefore and NotAfter are when clients take it for valid. Proxies offer it at any time.
	NotBefore, NotAfter time.Time
	// CertificatePEM and PrivateKeyPEM have been parsed and found to belong together, and hold nothing else. They never go to a log.
	CertificatePEM []byte
	PrivateKeyPEM  []byte
}
