package refs

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxPorts is how many ports a message names.
const maxPorts = 8

// wrongPort says which ports a Service has that does not have the one a reference names. Many write the port of the pods.
func wrongPort(service *corev1.Service, key string, transport corev1.Protocol, number int32) string {
	message := fmt.Sprintf("Service %s has no %s port %d; it has %s", key, transport, number, portsOf(service))
	for _, port := range service.Spec.Ports {
		if port.TargetPort.IntVal == number && transportOf(port.Protocol) == transport {
			return fmt.Sprintf("%s. %d is the targetPort of port %d: write %d", message, number, port.Port, port.Port)
		}
	}
	return message
}

// portsOf lists the ports of a Service.
func portsOf(service *corev1.Service) string {
	if len(service.Spec.Ports) == 0 {
		return "none"
	}
	var ports []string
	for _, port := range service.Spec.Ports[:min(len(service.Spec.Ports), maxPorts)] {
		text := fmt.Sprint(port.Port)
		if transportOf(port.Protocol) != corev1.ProtocolTCP {
			text += "/" + string(port.Protocol)
		}
		if port.Name != "" {
			text += fmt.Sprintf(" (%s)", port.Name)
		}
		ports = append(ports, text)
	}
	if more := len(service.Spec.Ports) - maxPorts; more > 0 {
		ports = append(ports, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(ports, ", ")
}

// externalName says how to reach what such a Service names.
func externalName(service *corev1.Service, key string) string {
	return fmt.Sprintf("Service %s is of type ExternalName, which has no endpoints to route to; "+
		"refer to an XBackend of type ExternalHostname with hostname %s instead", key, service.Spec.ExternalName)
}
