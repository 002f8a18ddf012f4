package backend

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ReasonExternalHostnamesDisabled is why no XBackend of type ExternalHostname is served.
const ReasonExternalHostnamesDisabled = "ExternalHostnamesDisabled"

const (
	useService     = "refer to the Service instead"
	useName        = "use a name, or refer to a Service without a selector whose EndpointSlice has the address"
	useOutsideName = "use the full name of a host outside the cluster"
)

// metadataNames are public names of cloud metadata servers, which have the credentials of the node. Others end with .internal, or have
// one label.
var metadataNames = []string{"metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com"}

// checkExternalHostname rejects hostnames that are not outside the cluster. Names of Services would bypass ReferenceGrants; names of the
// proxy and of its node would reach services that trust them. The proxy also checks the addresses that a name resolves to.
func checkExternalHostname(objects *store.Objects, hostname string) *refs.Problem {
	if objects.NoExternalHostnames {
		return switchedOff("type ExternalHostname")
	}
	return checkOutsideName(objects, "externalHostname.hostname", hostname)
}

// switchedOff says that the operator lets nothing lead out of the cluster.
func switchedOff(what string) *refs.Problem {
	return &refs.Problem{
		Reason: ReasonExternalHostnamesDisabled,
		Message: "the operator of Gatewright has switched off " + what + " (externalHostnames.enabled), so requests are answered 503; use a " +
			"Service, or an XBackend of type EndpointSelector",
	}
}

// checkOutsideName is [checkExternalHostname] for a field of any kind.
func checkOutsideName(objects *store.Objects, field, hostname string) *refs.Problem {
	if objects.NoExternalHostnames {
		return switchedOff("names outside the cluster")
	}
	reject := func(is, instead string) *refs.Problem {
		return invalid(fmt.Sprintf("%s %s %s, so requests are answered 503; %s", field, hostname, is, instead))
	}
	name := strings.TrimRight(strings.ToLower(hostname), ".")
	// The default cluster domain is rejected in every cluster: no name outside a cluster ends with it.
	switch {
	case isAddress(name):
		return reject("is an address", useName)
	case under(name, ir.DefaultClusterDomain), inClusterDomain(objects, name), under(name, "svc"), under(name, "kubernetes.default"):
		return reject("is inside the cluster", useService)
	case under(name, "localhost"), under(name, "localdomain"):
		return reject("is the proxy itself", useService)
	case !strings.Contains(name, "."):
		return reject("is not a full name, and may be one of the cluster or of the node", useOutsideName+", or "+useService)
	case under(name, "internal"), slices.Contains(metadataNames, name):
		return reject("is a name of the network that the nodes are in",
			useOutsideName+", or a Service without a selector whose EndpointSlice has the address")
	default:
		return nil
	}
}

func inClusterDomain(objects *store.Objects, name string) bool {
	return objects.ClusterDomain != "" && under(name, strings.ToLower(strings.Trim(objects.ClusterDomain, ".")))
}

// under reports whether a name is a domain or one of its subdomains.
func under(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }

// isAddress reports whether a resolver could read a name as an address: 127.1, 0x7f.1, 017700000001, 2130706433. By the URL standard, no
// name ends with a number, because no such top-level domain can exist.
func isAddress(name string) bool {
	if strings.ContainsAny(name, ":[]%") {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	return isNumber(last, "0123456789") || strings.HasPrefix(last, "0x") && isNumber(last[len("0x"):], "0123456789abcdef")
}

func isNumber(text, digits string) bool { return strings.Trim(text, digits) == "" }
