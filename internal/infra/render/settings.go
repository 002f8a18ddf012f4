package render

import (
	"cmp"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// EnvoyVersion is the version of Envoy that Gatewright is made for and tested with.
	EnvoyVersion = "v1.40.0"
	// DefaultImage is the proxy that Gatewright is tested with.
	DefaultImage = "docker.io/envoyproxy/envoy:distroless-" + EnvoyVersion
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
	// control plane's certificate has the name of its Service.
	XDSHost string
	XDSPort uint32
	// Families are the IP families of the cluster's pods.
	Families ir.Families
	// Image is the proxy's image; empty means [DefaultImage].
	Image string
	// Helper is the image with the program that drains a proxy. Without one a proxy only pauses before it ends.
	Helper string
}

// ServerNames are the names that the control plane's certificate must hold; proxies check the first.
func (s Settings) ServerNames() []string { return s.controlPlane().ServerNames() }

func (s Settings) controlPlane() bootstrap.ControlPlane {
	return bootstrap.ControlPlane{Namespace: s.SystemNamespace, ClusterDomain: s.ClusterDomain, Host: s.XDSHost, Port: s.XDSPort}
}

// bootstrapOptions are those of a Gateway's proxies.
func (s Settings) bootstrapOptions(gateway ir.Gateway) bootstrap.Options {
	return bootstrap.Options{
		ControlPlane: s.controlPlane(),
		Families:     s.Families,
		MemoryLimit:  resourcesOf(gateway).MemoryLimit,
		DrainHelper:  s.Helper != "",
	}
}

func (s Settings) image() string { return cmp.Or(s.Image, DefaultImage) }
