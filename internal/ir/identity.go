package ir

import (
	"cmp"
	"strconv"
	"strings"
)

// keySeparator is between the parts of an identity's text. No name in Kubernetes has it.
const keySeparator = "|"

// GatewayBackend identifies a backend that the proxies of a Gateway connect to.
type GatewayBackend struct {
	// Gateway is a [Name.String].
	Gateway string
	Backend Backend
}

// String is `<gateway>|<backend>`.
func (g GatewayBackend) String() string { return g.Gateway + keySeparator + g.Backend.String() }

// ParseGatewayBackend is the inverse of [GatewayBackend.String].
func ParseGatewayBackend(s string) GatewayBackend {
	gateway, name, _ := strings.Cut(s, keySeparator)
	backend, _ := ParseBackend(name)
	return GatewayBackend{Gateway: gateway, Backend: backend}
}

// GatewaySecret identifies a key pair or a bundle of authorities that the proxies of a Gateway use.
type GatewaySecret struct {
	// Gateway is a [Name.String], and Secret the name of a [Certificate] or of [Authorities].
	Gateway, Secret string
}

// String is `<gateway>|<secret>`.
func (g GatewaySecret) String() string { return g.Gateway + keySeparator + g.Secret }

// ParseGatewaySecret is the inverse of [GatewaySecret.String].
func ParseGatewaySecret(s string) GatewaySecret {
	gateway, secret, _ := strings.Cut(s, keySeparator)
	return GatewaySecret{Gateway: gateway, Secret: secret}
}

// ListenerID identifies a listener of a Gateway, whether the Gateway or a ListenerSet has it.
type ListenerID struct {
	// Gateway is a [Name.String].
	Gateway, Listener string
}

// String is `<gateway>|<listener>`.
func (l ListenerID) String() string { return l.Gateway + keySeparator + l.Listener }

// Namespace is that of the Gateway or ListenerSet that has the listener.
func (l ListenerID) Namespace() string {
	if set := ParseName(l.Listener); set.Name != "" {
		return set.Namespace
	}
	return ParseName(l.Gateway).Namespace
}

// ParseListenerID is the inverse of [ListenerID.String].
func ParseListenerID(s string) ListenerID {
	gateway, listener, _ := strings.Cut(s, keySeparator)
	return ListenerID{Gateway: gateway, Listener: listener}
}

// Domain is a domain of the listener.
func (l ListenerID) Domain(name string) DomainID { return DomainID{Listener: l, Domain: name} }

// DomainID identifies a domain of a listener.
type DomainID struct {
	Listener ListenerID
	Domain   string
}

// String is `<gateway>|<listener>|<domain>`.
func (d DomainID) String() string {
	return d.Listener.Gateway + keySeparator + d.Listener.Listener + keySeparator + d.Domain
}

// PortID identifies a port of a Gateway.
type PortID struct {
	// Gateway is a [Name.String], and Port a [Port.ID].
	Gateway, Port string
}

// String is `<gateway>|<port>`.
func (p PortID) String() string { return p.Gateway + keySeparator + p.Port }

// ListenerName is the name of the Envoy listener: `<gateway>/<port>`.
func (p PortID) ListenerName() string { return p.Gateway + "/" + p.Port }

// ParsePortName is the inverse of [PortID.ListenerName].
func ParsePortName(s string) PortID {
	namespace, rest, _ := strings.Cut(s, "/")
	name, port, _ := strings.Cut(rest, "/")
	return PortID{Gateway: Name{Namespace: namespace, Name: name}.String(), Port: port}
}

// OfQUIC is the port of the same number at which HTTP/3 is served beside this TCP port.
func (p PortID) OfQUIC() PortID { return PortID{Gateway: p.Gateway, Port: p.Port + datagrams} }

// OfTCP is the port beside which HTTP/3 is served at this one, and every other port itself.
func (p PortID) OfTCP() PortID {
	return PortID{Gateway: p.Gateway, Port: strings.TrimSuffix(p.Port, datagrams)}
}

// ParsePortID is the inverse of [PortID.String].
func ParsePortID(s string) PortID {
	gateway, port, _ := strings.Cut(s, keySeparator)
	return PortID{Gateway: gateway, Port: port}
}

// ChainID identifies a chain of a port.
type ChainID struct {
	Port PortID
	// Chain is the name of a [Chain].
	Chain string
}

// String is `<gateway>|<port>|<chain>`.
func (c ChainID) String() string { return c.Port.String() + keySeparator + c.Chain }

// ParseChainID is the inverse of [ChainID.String].
func ParseChainID(s string) ChainID {
	gateway, rest, _ := strings.Cut(s, keySeparator)
	port, chain, _ := strings.Cut(rest, keySeparator)
	return ChainID{Port: PortID{Gateway: gateway, Port: port}, Chain: chain}
}

// TableID identifies a route table (RouteConfiguration): the HTTP listeners of a port share one, and so do the HTTPS listeners. The zero
// value stands for none.
type TableID struct {
	// Gateway is a [Name.String].
	Gateway string
	Port    int32
}

// IsZero reports whether there is no table.
func (t TableID) IsZero() bool { return t == TableID{} }

// String is the name of the RouteConfiguration: `<gateway>/<port>`.
func (t TableID) String() string {
	if t.IsZero() {
		return ""
	}
	return t.Gateway + "/" + strconv.Itoa(int(t.Port))
}

// ParseTableID is the inverse of [TableID.String]. Of any other text it makes the zero value.
func ParseTableID(s string) TableID {
	end := strings.LastIndexByte(s, '/')
	if end < 0 {
		return TableID{}
	}
	port, ok := parsePort(s[end+1:])
	if !ok {
		return TableID{}
	}
	return TableID{Gateway: s[:end], Port: port}
}

// parsePort reads a number as strconv writes it: no sign, and no zero in front.
func parsePort(s string) (int32, bool) {
	port, err := strconv.ParseUint(s, 10, 31)
	return int32(port), err == nil && (s[0] != '0' || len(s) == 1)
}

// MarshalText is [TableID.String].
func (t TableID) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (t *TableID) UnmarshalText(text []byte) error {
	*t = ParseTableID(string(text))
	return nil
}

// Host is a virtual host of the table.
func (t TableID) Host(domain string) HostID { return HostID{Table: t, Domain: domain} }

// HostID identifies a virtual host.
type HostID struct {
	Table  TableID
	Domain string
}

// String is `<table>|<domain>`.
func (h HostID) String() string {
	if h.Table.IsZero() {
		return keySeparator + h.Domain
	}
	// One allocation: it is the key of several tables.
	var port [10]byte
	return h.Table.Gateway + "/" + string(strconv.AppendInt(port[:0], int64(h.Table.Port), 10)) + keySeparator + h.Domain
}

// ParseHostID is the inverse of [HostID.String].
func ParseHostID(s string) HostID {
	table, domain, _ := strings.Cut(s, keySeparator)
	return HostID{Table: ParseTableID(table), Domain: domain}
}

// ObjectRef identifies an object that a setting comes from. The zero value stands for none.
type ObjectRef struct {
	Kind string
	Name Name
}

// IsZero reports whether there is none.
func (o ObjectRef) IsZero() bool { return o == ObjectRef{} }

// String is `<kind>/<namespace>/<name>`.
func (o ObjectRef) String() string {
	if o.IsZero() {
		return ""
	}
	return o.Kind + "/" + o.Name.String()
}

// ParseObjectRef is the inverse of [ObjectRef.String].
func ParseObjectRef(s string) ObjectRef {
	kind, name, ok := strings.Cut(s, "/")
	if !ok {
		return ObjectRef{}
	}
	return ObjectRef{Kind: kind, Name: ParseName(name)}
}

// Compare orders references by their text.
func (o ObjectRef) Compare(other ObjectRef) int { return cmp.Compare(o.String(), other.String()) }

// MarshalText is [ObjectRef.String].
func (o ObjectRef) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (o *ObjectRef) UnmarshalText(text []byte) error {
	*o = ParseObjectRef(string(text))
	return nil
}
