package render

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// service gives the fleet its address. Only the first static address can be asked for: a Service has one loadBalancerIP and keeps its
// clusterIP for life, and externalIPs would let a Gateway take over traffic of others.
func service(gateway ir.Gateway, families ir.Families) (Object, error) {
	kind := serviceType(gateway.Fleet)
	spec := applycorev1.ServiceSpec().WithType(kind).WithSelector(selector(BackingFleet(gateway)))
	for _, port := range gateway.Ports {
		spec.WithPorts(servicePort(gateway.Fleet.Proxies.Service, port))
	}
	if len(gateway.Fleet.Addresses) > 0 {
		spec.WithLoadBalancerIP(gateway.Fleet.Addresses[0])
	}
	if len(gateway.Fleet.ClusterAddresses) > 0 {
		spec.WithClusterIP(gateway.Fleet.ClusterAddresses[0])
	}
	tuneService(spec, kind, gateway.Fleet.Proxies.Service)
	chooseFamilies(spec, gateway.Fleet, families)
	return patchService(gateway, applycorev1.Service(gateway.Fleet.Name, gateway.FleetNamespace()).
		WithLabels(serviceLabels(gateway)).
		WithAnnotations(serviceAnnotations(gateway)).
		WithOwnerReferences(owners(gateway)...).
		WithSpec(spec))
}

// serviceType is what the parameters say, unless the Gateway asks for no address outside the cluster.
func serviceType(fleet ir.Fleet) corev1.ServiceType {
	switch {
	case fleet.Proxies.Service.Type != "":
		return corev1.ServiceType(fleet.Proxies.Service.Type)
	case fleet.InClusterOnly:
		return corev1.ServiceTypeClusterIP
	default:
		return corev1.ServiceTypeLoadBalancer
	}
}

// tuneService says what the parameters do, as far as a Service of that type can have it.
func tuneService(spec *applycorev1.ServiceSpecApplyConfiguration, kind corev1.ServiceType, wanted ir.Service) {
	if kind == corev1.ServiceTypeLoadBalancer {
		if wanted.LoadBalancerClass != "" {
			spec.WithLoadBalancerClass(wanted.LoadBalancerClass)
		}
		spec.WithLoadBalancerSourceRanges(wanted.SourceRanges...)
	}
	if kind != corev1.ServiceTypeClusterIP && wanted.ExternalPolicy != "" {
		spec.WithExternalTrafficPolicy(corev1.ServiceExternalTrafficPolicy(wanted.ExternalPolicy))
	}
	if wanted.InternalPolicy != "" {
		spec.WithInternalTrafficPolicy(corev1.ServiceInternalTrafficPolicy(wanted.InternalPolicy))
	}
}

// chooseFamilies says in which families the Service has addresses: as the parameters say, or else in all that the cluster has. Without
// either, Kubernetes gives it one address only. Where a Gateway names an address of a load balancer, the Service has that family alone:
// MetalLB, for one, refuses a single address for a Service of two families.
func chooseFamilies(spec *applycorev1.ServiceSpecApplyConfiguration, fleet ir.Fleet, families ir.Families) {
	wanted := fleet.Proxies.Service
	for _, family := range wanted.Families {
		spec.WithIPFamilies(corev1.IPFamily(family))
	}
	if wanted.FamilyPolicy != "" {
		spec.WithIPFamilyPolicy(corev1.IPFamilyPolicy(wanted.FamilyPolicy))
	}
	if wanted.FamilyPolicy != "" || len(wanted.Families) > 0 || !families.Dual() {
		return
	}
	if len(fleet.Addresses) > 0 {
		if address, err := netip.ParseAddr(fleet.Addresses[0]); err == nil {
			spec.WithIPFamilyPolicy(corev1.IPFamilyPolicySingleStack).WithIPFamilies(corev1.IPFamily(ir.FamilyOf(address)))
		}
		return
	}
	spec.WithIPFamilyPolicy(corev1.IPFamilyPolicyPreferDualStack)
}

func servicePort(wanted ir.Service, port ir.Port) *applycorev1.ServicePortApplyConfiguration {
	rendered := applycorev1.ServicePort().
		WithName(portName(port)).
		WithProtocol(transport(port)).
		WithPort(port.Number).
		WithTargetPort(intstr.FromInt32(port.Socket()))
	if chosen := wanted.NodePorts[port.ID()]; chosen != 0 && wanted.Type != string(corev1.ServiceTypeClusterIP) {
		rendered.WithNodePort(chosen)
	}
	return rendered
}

func transport(port ir.Port) corev1.Protocol {
	if port.Protocol.Datagrams() {
		return corev1.ProtocolUDP
	}
	return corev1.ProtocolTCP
}

func portName(port ir.Port) string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(port.Protocol)), port.Number)
}
