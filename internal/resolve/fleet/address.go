package fleet

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// UnsupportedAddress returns a message about the first address that is not supported, empty if all are.
func UnsupportedAddress(addresses []gwv1.GatewaySpecAddress) string {
	for _, address := range addresses {
		if address.Type != nil && *address.Type != gwv1.IPAddressType {
			return fmt.Sprintf("address %q has type %s; only %s is served", address.Value, *address.Type, gwv1.IPAddressType)
		}
		if address.Routability != gwv1.GatewayAddressRoutabilityDefault && address.Routability != gwv1.GatewayAddressRoutabilityCluster {
			return fmt.Sprintf("address %q has routability %s; only %s, or none, is served",
				address.Value, address.Routability, gwv1.GatewayAddressRoutabilityCluster)
		}
		if address.Value == "" {
			continue
		}
		if parsed, err := netip.ParseAddr(address.Value); err != nil || parsed.Zone() != "" {
			return fmt.Sprintf("address %q is not an IP address", address.Value)
		}
	}
	return ""
}

// setAddresses sets the addresses that the Gateway asks for. A Gateway that asks only for cluster addresses gets no others. One that asks
// for none gets those of the load balancer.
func setAddresses(f *ir.Fleet, addresses []gwv1.GatewaySpecAddress) {
	outside := len(addresses) == 0
	for _, address := range addresses {
		static := &f.Addresses
		if address.Routability == gwv1.GatewayAddressRoutabilityCluster {
			static, f.InCluster = &f.ClusterAddresses, true
		} else {
			outside = true
		}
		if address.Value != "" {
			*static = append(*static, address.Value)
		}
	}
	f.InClusterOnly = !outside
}

// assignedAddresses returns the addresses of the fleet. The outside ones are those of the load balancer, or of the nodes for a NodePort
// Service. The inside ones are the Service's own, if the Gateway asks for a cluster address.
func assignedAddresses(v *store.View, objects *store.Objects, key string, gateway ir.Gateway) (outside, inside []outcome.Address) {
	fleet := gateway.Fleet
	service, ok := objects.Services.Get(v, key)
	if !ok || !ownedBy(service, gateway) {
		return nil, nil
	}
	switch {
	case fleet.InClusterOnly:
	case fleet.Proxies.Pod.HostPorts:
		outside = nodeAddresses(v, objects, fleet.Proxies.Pod.NodeSelector)
	case service.Spec.Type == corev1.ServiceTypeNodePort:
		// Every node forwards to the proxies.
		outside = nodeAddresses(v, objects, nil)
	}
	if !fleet.InClusterOnly {
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			if ingress.IP != "" {
				outside = append(outside, outcome.Address{Value: ingress.IP})
			}
			if ingress.Hostname != "" {
				outside = append(outside, outcome.Address{Value: ingress.Hostname, Hostname: true})
			}
		}
	}
	if fleet.InCluster {
		for _, ip := range service.Spec.ClusterIPs {
			if ip != corev1.ClusterIPNone {
				inside = append(inside, outcome.Address{Value: ip, InCluster: true})
			}
		}
	}
	return outside, inside
}

func missingAddresses(wanted []string, have []outcome.Address) []string {
	var missing []string
	for _, address := range wanted {
		found := false
		for _, h := range have {
			found = found || sameAddress(h.Value, address)
		}
		if !found {
			missing = append(missing, address)
		}
	}
	return missing
}

// sameAddress compares addresses by value: IPv6 addresses have several spellings.
func sameAddress(a, b string) bool {
	if a == b {
		return true
	}
	first, err := netip.ParseAddr(a)
	second, err2 := netip.ParseAddr(b)
	return err == nil && err2 == nil && first.Unmap() == second.Unmap()
}
