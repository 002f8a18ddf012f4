package render

import "github.com/gatewright/gatewright/internal/ir"

// DefaultImage is the proxy that Gatewright is tested with.
const DefaultImage = "docker.io/envoyproxy/envoy:distroless-v1.40.0"

// Where the control plane is found unless told otherwise.
const (
	// XDSService is the name of the Service in front of the control plane's xDS servers.
	XDSService = "gatewright-xds"
	// DefaultXDSPort is the port of that Service.
	DefaultXDSPort = 18000
)

// Settings is what is the same for every fleet of a control plane.
type Settings struct {
	// SystemNamespace is where the control plane runs.
	SystemNamespace string
	// Installation is which of several installations this is, see [ir.Installation].
	Installation string
	// ClusterDomain is the cluster's DNS domain; empty means [ir.DefaultClusterDomain].
	ClusterDomain string
	// XDSHost and XDSPort are where proxies find the control plane; empty and zero mean its Service. Whatever the host is, the
	// control plane proves the name of its Service.
	XDSHost string
	XDSPort uint32
	// Families are the IP families of the cluster's pods.
	Families ir.Families
	// Image is the proxy's image; empty means [DefaultImage].
	Image string
	// Helper is the image of Gatewright itself, whose program lets a proxy finish before it ends. Without one a proxy only pauses.
	Helper string
}

// ServerNames are the names the control plane's certificate must hold; proxies check the first.
func (s Settings) ServerNames() []string {
	service := XDSService + "." + s.SystemNamespace + ".svc"
	return []string{service, service + "." + s.clusterDomain()}
}

func (s Settings) clusterDomain() string {
	if s.ClusterDomain == "" {
		return ir.DefaultClusterDomain
	}
	return s.ClusterDomain
}

func (s Settings) xdsHost() string {
	if s.XDSHost == "" {
		return s.ServerNames()[1]
	}
	return s.XDSHost
}

func (s Settings) xdsPort() uint32 {
	if s.XDSPort == 0 {
		return DefaultXDSPort
	}
	return s.XDSPort
}

func (s Settings) image() string {
	if s.Image == "" {
		return DefaultImage
	}
	return s.Image
}
