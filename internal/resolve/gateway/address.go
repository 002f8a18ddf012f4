package gateway

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// unsupportedAddress says what is wrong with the first address that can not be asked for, nothing if there is none.
func unsupportedAddress(addresses []gwv1.GatewaySpecAddress) string {
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

// takeAddresses notes which addresses the fleet should have. Whoever names only addresses inside the cluster does not want to be reached
// from elsewhere; whoever names none wants the load balancer's.
func takeAddresses(f *ir.Fleet, addresses []gwv1.GatewaySpecAddress) {
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

// fleetAddresses is where the fleet can be reached: what the load balancer gave its Service, or the nodes for one of type NodePort, and the
// Service's own address where the Gateway asks for one inside the cluster.
func fleetAddresses(v *store.View, objects *store.Objects, key string, gateway ir.Gateway) (outside, inside []outcome.Address) {
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
		// Every node leads to the proxies.
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

// sameAddress compares addresses however they are written: IPv6 has many ways.
func sameAddress(a, b string) bool {
	if a == b {
		return true
	}
	first, err := netip.ParseAddr(a)
	second, err2 := netip.ParseAddr(b)
	return err == nil && err2 == nil && first.Unmap() == second.Unmap()
}
