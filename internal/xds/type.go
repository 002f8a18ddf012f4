package xds

import resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"

// Type is a kind of resource.
type Type uint8

// The kinds of resources, in the order in which a proxy gets them.
const (
	Cluster Type = iota
	Endpoints
	Secret
	// Scope is a virtual host that travels by itself; see routetable.go.
	Scope
	Listener
	RouteTable
	// wireTypes is the number of kinds above, which are those a proxy can request.
	wireTypes
	// VirtualHost is a part of a RouteTable; see routetable.go for how it travels.
	VirtualHost
)

var typeURLs = [wireTypes]string{
	Cluster:    resourcev3.ClusterType,
	Endpoints:  resourcev3.EndpointType,
	Secret:     resourcev3.SecretType,
	Scope:      resourcev3.ScopedRouteType,
	Listener:   resourcev3.ListenerType,
	RouteTable: resourcev3.RouteType,
}

// String is the name used in logs and metrics.
func (t Type) String() string {
	switch t {
	case Cluster:
		return "cluster"
	case Endpoints:
		return "endpoints"
	case Secret:
		return "secret"
	case Scope:
		return "scope"
	case Listener:
		return "listener"
	case RouteTable:
		return "route_table"
	case VirtualHost:
		return "virtual_host"
	default:
		return "unknown"
	}
}

func typeOf(url string) (Type, bool) {
	for t, known := range typeURLs {
		if known == url {
			return Type(t), true
		}
	}
	return 0, false
}

// hasWildcard reports whether a proxy can subscribe to everything of the type. Others are requested by name, even by a client that
// sends "*".
func (t Type) hasWildcard() bool { return t == Cluster || t == Scope || t == Listener }

// removedAfterACK reports whether other resources may still refer to a removed one, so that its removal waits for the last phase of an
// update cycle. Nothing refers to listeners, and Envoy has to remove an old one together with a new one on the same address. Endpoints
// come and go with the proxy's subscription.
func (t Type) removedAfterACK() bool {
	return t == Cluster || t == Secret || t == Scope || t == RouteTable
}
