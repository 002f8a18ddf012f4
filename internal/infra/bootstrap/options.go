package bootstrap

import (
	"cmp"

	"github.com/gatewright/gatewright/internal/ir"
)

// Where the control plane is found by default.
const (
	// XDSService is the name of the Service in front of the control plane's xDS servers.
	XDSService = "gatewright-xds"
	// DefaultXDSPort is the port of that Service.
	DefaultXDSPort = 18000
)

// Options is what the bootstrap depends on besides the Gateway.
type Options struct {
	ControlPlane ControlPlane
	// Families are the IP families of the cluster's pods.
	Families ir.Families
	// MemoryLimit is that of the proxy's container, in bytes; zero means none.
	MemoryLimit int64
	// DrainHelper is true if the pod contains the program that drains the proxy.
	DrainHelper bool
}

// ControlPlane is where proxies find the xDS servers.
type ControlPlane struct {
	// Namespace is where the control plane runs.
	Namespace string
	// ClusterDomain is the cluster's DNS domain; empty means [ir.DefaultClusterDomain].
	ClusterDomain string
	// Host and Port are the address of the xDS servers; empty and zero mean their Service. Whatever the host is, the servers' certificate
	// has the name of the Service.
	Host string
	Port uint32
}

// ServerNames are the names that the control plane's certificate must hold; proxies check the first.
func (c ControlPlane) ServerNames() []string {
	service := XDSService + "." + c.Namespace + ".svc"
	return []string{service, service + "." + cmp.Or(c.ClusterDomain, ir.DefaultClusterDomain)}
}

func (c ControlPlane) host() string { return cmp.Or(c.Host, c.ServerNames()[1]) }

func (c ControlPlane) port() uint32 { return cmp.Or(c.Port, DefaultXDSPort) }
