package ir

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// BackendProtocol is the protocol that a proxy speaks to a backend.
type BackendProtocol string

// The protocols of backends.
const (
	BackendHTTP1 BackendProtocol = "http1"
	BackendHTTP2 BackendProtocol = "http2"
	// BackendWSS is [BackendHTTP1] that must be encrypted.
	BackendWSS BackendProtocol = "wss"
	// BackendPicker is [BackendHTTP2] to an endpoint picker, which is encrypted. Any certificate will do, unless a policy says which.
	BackendPicker BackendProtocol = "picker"
	// BackendTCP and BackendUDP forward bytes and datagrams unchanged.
	BackendTCP BackendProtocol = "tcp"
	BackendUDP BackendProtocol = "udp"
	// BackendPassthrough is [BackendTCP] for bytes that the client has encrypted for the backend.
	BackendPassthrough BackendProtocol = "passthrough"
)

// IsHTTP2 reports whether proxies speak HTTP/2.
func (p BackendProtocol) IsHTTP2() bool { return p == BackendHTTP2 || p == BackendPicker }

// TakesTLS reports whether a policy may encrypt the connections to a backend.
func (p BackendProtocol) TakesTLS() bool { return p != BackendUDP && p != BackendPassthrough }

// BackendKind is the kind of the object that a backend is.
type BackendKind uint8

// The kinds of backends.
const (
	KindService BackendKind = iota
	KindXBackend
	KindBackend
	KindInferencePool
	KindServiceImport
	// KindFailover is no kind of object: see [Failover].
	KindFailover
)

// String is the kind in the Kubernetes API.
func (k BackendKind) String() string {
	return [...]string{"Service", "XBackend", "Backend", "InferencePool", "ServiceImport", "Failover"}[k]
}

// IsService reports whether the object is a Service, or is read as one.
func (k BackendKind) IsService() bool { return k == KindService || k == KindServiceImport }

// BackendTarget is the object of a backend, whichever its port. Policies target it.
type BackendTarget struct {
	Kind   BackendKind
	Object Name
}

// Ref is the object.
func (t BackendTarget) Ref() ObjectRef { return ObjectRef{Kind: t.Kind.String(), Name: t.Object} }

// String is `<namespace>/<name>` for a Service. Before the name of another kind stands the kind, which is not a valid namespace.
func (t BackendTarget) String() string {
	if t.Kind == KindService {
		return t.Object.String()
	}
	return t.Kind.String() + "/" + t.Object.String()
}

// MarshalText is [BackendTarget.String].
func (t BackendTarget) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func cutKind(s string) (kind BackendKind, rest string) {
	for kind := KindXBackend; kind <= KindFailover; kind++ {
		if rest, ok := strings.CutPrefix(s, kind.String()+"/"); ok {
			return kind, rest
		}
	}
	return KindService, s
}

// Endpoints identifies the endpoints of a backend. They depend neither on the protocol nor on the settings of the destination, but the UDP
// port of a number differs from the TCP port.
type Endpoints struct {
	Kind   BackendKind
	Object Name
	Port   int32
	UDP    bool
}

// String is the EDS service name.
func (e Endpoints) String() string {
	var kind, protocol string
	if e.Kind != KindService {
		kind = e.Kind.String() + "/"
	}
	if e.UDP {
		protocol = "/" + string(BackendUDP)
	}
	// One allocation: it is the key of several tables.
	var port [10]byte
	return kind + e.Object.Namespace + "/" + e.Object.Name + "/" + string(strconv.AppendInt(port[:0], int64(e.Port), 10)) + protocol
}

// Target is the object that has the endpoints.
func (e Endpoints) Target() BackendTarget { return BackendTarget{Kind: e.Kind, Object: e.Object} }

// ParseEndpoints is the inverse of [Endpoints.String]. Of any other text it makes the zero value.
func ParseEndpoints(s string) Endpoints {
	b, _ := ParseBackend(s)
	return b.Endpoints()
}

// Backend is one port of a Service, a ServiceImport or an XBackend, or all ports of an InferencePool, and how proxies connect to it. It
// identifies a cluster: a rule that moves or is rewritten keeps its connections. The zero value stands for a reference that cannot be
// resolved.
type Backend struct {
	Kind     BackendKind
	Port     int32
	Object   Name
	Protocol BackendProtocol
	// Variant distinguishes clusters whose destination settings differ by listener or route. It has the digests of these settings, see
	// [VariantOf], and is empty where a backend is used with the settings of the Gateway and the backend alone.
	Variant string
}

// VariantOf is the variant for the settings of a listener and those of a rule. Each may be nil. It never has their position, so that
// listeners and rules with the same settings share a cluster.
func VariantOf(listener, rule *DestinationLayer) string {
	variant := ""
	if listener != nil {
		variant += listenerPart + listener.Digest
	}
	if rule != nil {
		variant += rulePart + rule.Digest
	}
	return variant
}

// A digest is hexadecimal, so it has neither of these.
const listenerPart, rulePart = "l", "r"

// VariantDigests are the digests of the settings of a listener and of a rule, empty where there are none.
func (b Backend) VariantDigests() (listener, rule string) {
	before, rule, _ := strings.Cut(b.Variant, rulePart)
	return strings.TrimPrefix(before, listenerPart), rule
}

// With is the backend in another variant. A reference that cannot be resolved has none.
func (b Backend) With(variant string) Backend {
	if !b.IsZero() {
		b.Variant = variant
	}
	return b
}

// variantSeparator stands before the variant in a name. No other part of a name has it.
const variantSeparator = "~"

// IsZero reports whether the reference cannot be resolved.
func (b Backend) IsZero() bool { return b == Backend{} }

// String is the name of the cluster: that of the endpoints, and behind it the protocol, unless it is HTTP/1.1, and the variant if there
// is one.
func (b Backend) String() string {
	if b.IsZero() {
		return ""
	}
	name := b.Endpoints().String()
	if b.Protocol != BackendHTTP1 && b.Protocol != BackendUDP {
		name += "/" + string(b.Protocol)
	}
	if b.Variant != "" {
		name += variantSeparator + b.Variant
	}
	return name
}

// Target is the object, whichever its port.
func (b Backend) Target() BackendTarget { return BackendTarget{Kind: b.Kind, Object: b.Object} }

// Endpoints identifies the endpoints, which all variants share.
func (b Backend) Endpoints() Endpoints {
	return Endpoints{Kind: b.Kind, Object: b.Object, Port: b.Port, UDP: b.Protocol == BackendUDP}
}

// Passthrough is the backend for bytes that the client has encrypted for it.
func (b Backend) Passthrough() Backend {
	if !b.IsZero() {
		b.Protocol = BackendPassthrough
	}
	return b
}

// Compare orders backends by kind, object, port, protocol and variant.
func (b Backend) Compare(other Backend) int {
	return cmp.Or(
		cmp.Compare(b.Kind, other.Kind),
		cmp.Compare(b.Object.Namespace, other.Object.Namespace),
		cmp.Compare(b.Object.Name, other.Object.Name),
		cmp.Compare(b.Port, other.Port),
		cmp.Compare(b.Protocol, other.Protocol),
		cmp.Compare(b.Variant, other.Variant),
	)
}

// MarshalText is [Backend.String].
func (b Backend) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (b *Backend) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*b = Backend{}
		return nil
	}
	parsed, ok := ParseBackend(string(text))
	if !ok {
		return fmt.Errorf("%q is not the name of a backend", text)
	}
	*b = parsed
	return nil
}

// ParseBackend is the inverse of [Backend.String], and parses the name of endpoints too. It is for names that Envoy or another replica
// returns, and for keys of tables.
func ParseBackend(s string) (b Backend, ok bool) {
	name, variant, varies := strings.Cut(s, variantSeparator)
	kind, rest := cutKind(name)
	namespace, rest, _ := strings.Cut(rest, "/")
	object, rest, _ := strings.Cut(rest, "/")
	number, protocol, explicit := strings.Cut(rest, "/")
	port, ok := parsePort(number)
	if !ok || namespace == "" || object == "" || varies && variant == "" ||
		explicit && (protocol == "" || protocol == string(BackendHTTP1) || strings.Contains(protocol, "/")) {
		return Backend{}, false
	}
	b = Backend{Kind: kind, Object: Name{Namespace: namespace, Name: object}, Port: port, Protocol: BackendHTTP1, Variant: variant}
	if explicit {
		b.Protocol = BackendProtocol(protocol)
	}
	return b, true
}
