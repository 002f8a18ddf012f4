package policy

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

// metadataNames are public names that clouds let lead to the credentials of the node. Others end with .internal, or have one label.
var metadataNames = []string{"metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com"}

// outside refuses hostnames that lead somewhere else than out of the cluster: names of Services would get around ReferenceGrants, names of
// the proxy and of its node would reach what trusts them. What a name resolves to is only known to the proxy, which checks it too.
func outside(objects *store.Objects, hostname string) *refs.Problem {
	if objects.NoExternalHostnames {
		return &refs.Problem{
			Reason: ReasonExternalHostnamesDisabled,
			Message: "the operator of Gatewright has switched off type ExternalHostname (externalHostnames.enabled), so requests are answered 503; " +
				"use type EndpointSelector or a Service",
		}
	}
	refuse := func(is, instead string) *refs.Problem {
		return invalid(fmt.Sprintf("externalHostname.hostname %s %s, so requests are answered 503; %s", hostname, is, instead))
	}
	name := strings.TrimRight(strings.ToLower(hostname), ".")
	// The domain of most clusters is refused everywhere: no name outside can end with it.
	switch {
	case isAddress(name):
		return refuse("is an address", useName)
	case under(name, ir.DefaultClusterDomain) || objects.ClusterDomain != "" && under(name, strings.ToLower(strings.Trim(objects.ClusterDomain, "."))),
		under(name, "svc"), under(name, "kubernetes.default"):
		return refuse("is inside the cluster", useService)
	case under(name, "localhost"), under(name, "localdomain"):
		return refuse("is the proxy itself", useService)
	case !strings.Contains(name, "."):
		return refuse("is not a full name, and may be one of the cluster or of the node", useOutsideName+", or "+useService)
	case under(name, "internal"), slices.Contains(metadataNames, name):
		return refuse("is a name of the network that the nodes are in", useOutsideName+", or a Service without a selector whose EndpointSlice has the address")
	default:
		return nil
	}
}

// under says whether a name is a domain or one of its subdomains.
func under(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }

// isAddress says whether anything that resolves names could take a name for an address: 127.1, 0x7f.1, 017700000001, 2130706433. No name
// ends with a number, by the rule of the URL standard, for no such top-level domain can exist.
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
