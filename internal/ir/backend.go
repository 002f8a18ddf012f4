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

// Backend is one port of a Service and the way to talk to it. It is comparable and its name is its identity, so a rule that
// moves or is rewritten keeps its connections.
type Backend struct {
	Service  Name
	Port     int32
	Protocol BackendProtocol
}

// Name is `<namespace>/<service>/<port>`, with the protocol behind it where it is not HTTP/1.1.
func (b Backend) Name() string {
	if b.Protocol == BackendHTTP1 || b.Protocol == BackendUDP {
		return b.EndpointsName()
	}
	return b.EndpointsName() + "/" + string(b.Protocol)
}

// EndpointsName names the endpoints, which depend on the protocol only in so far as a UDP port is not the TCP port of that number.
func (b Backend) EndpointsName() string {
	return EndpointsName(b.Service, b.Port, b.Protocol == BackendUDP)
}

// EndpointsName names the endpoints of one TCP or UDP port of a Service.
func EndpointsName(service Name, port int32, udp bool) string {
	name := service.String() + "/" + strconv.Itoa(int(port))
	if udp {
		name += "/" + string(BackendUDP)
	}
	return name
}

// ParseBackend is the inverse of [Backend.Name].
func ParseBackend(name string) (Backend, bool) {
	parts := strings.Split(name, "/")
	if len(parts) < 3 || len(parts) > 4 {
		return Backend{}, false
	}
	port, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return Backend{}, false
	}
	b := Backend{Service: Name{Namespace: parts[0], Name: parts[1]}, Port: int32(port), Protocol: BackendHTTP1}
	if len(parts) == 4 {
		b.Protocol = BackendProtocol(parts[3])
	}
	return b, true
}
