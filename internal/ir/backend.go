package ir

import (
	"strconv"
	"strings"
)

// BackendProtocol is what a backend is spoken to in.
type BackendProtocol string

// The protocols a backend can be spoken to in.
const (
	BackendHTTP1 BackendProtocol = "http1"
	BackendHTTP2 BackendProtocol = "http2"
	// BackendWSS is [BackendHTTP1] that must be encrypted.
	BackendWSS BackendProtocol = "wss"
	// BackendTCP and BackendUDP pass on bytes and datagrams as they are.
	BackendTCP BackendProtocol = "tcp"
	BackendUDP BackendProtocol = "udp"
	// BackendPassthrough is [BackendTCP] for bytes that the client has encrypted for the backend.
	BackendPassthrough BackendProtocol = "passthrough"
)

// TakesTLS says whether a policy may have the connections to a backend encrypted.
func (p BackendProtocol) TakesTLS() bool { return p != BackendUDP && p != BackendPassthrough }

// Backend is one port of a Service, or of an XBackend, and the way to talk to it. It is comparable and its name is its identity, so a
// rule that moves or is rewritten keeps its connections.
type Backend struct {
	// Object is the Service, or the XBackend if XBackend is set.
	Object   Name
	XBackend bool
	Port     int32
	Protocol BackendProtocol
}

// xbackendPrefix stands before the names of XBackends. No namespace is spelled like this.
const xbackendPrefix = "XBackend/"

// Name is `<namespace>/<service>/<port>`, with the protocol behind it where it is not HTTP/1.1, and `XBackend/` before it for one of those.
func (b Backend) Name() string {
	if b.Protocol == BackendHTTP1 || b.Protocol == BackendUDP {
		return b.EndpointsName()
	}
	return b.EndpointsName() + "/" + string(b.Protocol)
}

// Target names the object, whichever its port, as policies that target it do: `<namespace>/<service>` or `XBackend/<namespace>/<name>`.
func (b Backend) Target() string {
	if b.XBackend {
		return xbackendPrefix + b.Object.String()
	}
	return b.Object.String()
}

// EndpointsName is the name of the endpoints, which do not depend on how they are spoken to. The UDP port of a number is another than the TCP
// port.
func (b Backend) EndpointsName() string {
	name := EndpointsName(b.Object, b.Port, b.Protocol == BackendUDP)
	if b.XBackend {
		return xbackendPrefix + name
	}
	return name
}

// EndpointsName is the name of the endpoints of one port of a Service.
func EndpointsName(service Name, port int32, udp bool) string {
	name := service.String() + "/" + strconv.Itoa(int(port))
	if udp {
		name += "/" + string(BackendUDP)
	}
	return name
}

// ParseBackend is the inverse of Name, and of EndpointsName.
func ParseBackend(name string) (Backend, bool) {
	rest, custom := strings.CutPrefix(name, xbackendPrefix)
	parts := strings.Split(rest, "/")
	if len(parts) < 3 || len(parts) > 4 {
		return Backend{}, false
	}
	port, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return Backend{}, false
	}
	b := Backend{Object: Name{Namespace: parts[0], Name: parts[1]}, XBackend: custom, Port: int32(port), Protocol: BackendHTTP1}
	if len(parts) == 4 {
		b.Protocol = BackendProtocol(parts[3])
	}
	return b, true
}
