package endpoints

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// Keys are the [ir.EndpointsName] of every port of a Service that can have endpoints, in the order of its ports.
func Keys(service *corev1.Service) []string {
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	var keys []string
	for _, port := range service.Spec.Ports {
		if isTCP(port.Protocol) {
			keys = append(keys, ir.EndpointsName(ir.Name{Namespace: service.Namespace, Name: service.Name}, port.Port))
		}
	}
	return keys
}

// servicePort finds a port by its number. An ExternalName Service is a DNS record and has no endpoints, whatever its ports and slices say.
func servicePort(service *corev1.Service, number int32) (corev1.ServicePort, bool) {
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return corev1.ServicePort{}, false
	}
	for _, port := range service.Spec.Ports {
		if port.Port == number && isTCP(port.Protocol) {
			return port, true
		}
	}
	return corev1.ServicePort{}, false
}

// isTCP says whether HTTP can be spoken there: one number may stand for a TCP and a UDP port.
func isTCP(protocol corev1.Protocol) bool { return protocol == "" || protocol == corev1.ProtocolTCP }
