package endpoints

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// OfService are the endpoints of every port of a Service that can have any, or of a ServiceImport that is read as one, in the order of its
// ports.
func OfService(service *corev1.Service) []ir.Endpoints {
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	of := store.TargetOf(service)
	var all []ir.Endpoints
	for _, port := range service.Spec.Ports {
		if isTCP(port.Protocol) || port.Protocol == corev1.ProtocolUDP {
			all = append(all, ir.Endpoints{
				Kind: of.Kind, Object: of.Object, Port: port.Port, UDP: port.Protocol == corev1.ProtocolUDP,
			})
		}
	}
	return all
}

// servicePort finds a port by its number and transport: one number may stand for a TCP and a UDP port. An ExternalName Service is a DNS
// record and has no endpoints, whatever its ports and slices say.
func servicePort(service *corev1.Service, number int32, transport corev1.Protocol) (corev1.ServicePort, bool) {
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return corev1.ServicePort{}, false
	}
	for _, port := range service.Spec.Ports {
		if port.Port == number && sameTransport(port.Protocol, transport) {
			return port, true
		}
	}
	return corev1.ServicePort{}, false
}

// isTCP: Kubernetes reads no protocol as TCP.
func isTCP(protocol corev1.Protocol) bool { return protocol == "" || protocol == corev1.ProtocolTCP }

func sameTransport(a, b corev1.Protocol) bool { return a == b || (isTCP(a) && isTCP(b)) }
