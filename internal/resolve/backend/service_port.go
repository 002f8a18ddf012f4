package backend

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// maxPorts is how many ports a message names.
const maxPorts = 8

// wrongPort is the message for a reference to a port that a Service does not have. A common mistake is the targetPort.
func wrongPort(service *corev1.Service, transport corev1.Protocol, number int32) string {
	message := fmt.Sprintf("%s has no %s port %d; it has %s", title(service), transport, number, portsOf(service))
	for _, port := range service.Spec.Ports {
		if port.TargetPort.IntVal == number && transportOf(port.Protocol) == transport {
			return fmt.Sprintf("%s. %d is the targetPort of port %d: write %d", message, number, port.Port, port.Port)
		}
	}
	return message
}

// title is what messages call a Service, or a ServiceImport that was read as one: `Service app/one`.
func title(service *corev1.Service) string {
	of := store.TargetOf(service)
	return of.Kind.String() + " " + of.Object.String()
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

// externalName is the message for a Service of type ExternalName.
func externalName(service *corev1.Service) string {
	return fmt.Sprintf("%s is of type ExternalName, which has no endpoints to route to; "+
		"refer to an XBackend of type ExternalHostname with hostname %s instead", title(service), service.Spec.ExternalName)
}
