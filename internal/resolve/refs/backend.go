package refs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// Values of a Service port's appProtocol that the standard defines (GEP-1911).
const (
	appProtocolH2C = "kubernetes.io/h2c"
	appProtocolWS  = "kubernetes.io/ws"
	appProtocolWSS = "kubernetes.io/wss"
)

// Backend follows a reference to a Service port, or to an XBackend. Which HTTP is spoken there is theirs to choose, and fallback otherwise;
// [ir.BackendTCP] and [ir.BackendUDP] are what they are.
func Backend(v *store.View, objects *store.Objects, from Origin, ref gwv1.BackendObjectReference, fallback ir.BackendProtocol) (ir.Backend, *Problem) {
	switch group, kind := valueOr(ref.Group, coreGroup), valueOr(ref.Kind, "Service"); {
	case group == gwxv1alpha1.GroupName && kind == string(store.XBackend):
		return xbackend(v, objects, from, ref, fallback)
	case group != coreGroup || kind != "Service":
		return ir.Backend{}, &Problem{
			Reason:  string(gwv1.RouteReasonInvalidKind),
			Message: fmt.Sprintf("backend %s has kind %q in group %q, which is not served; refer to a Service or an XBackend", ref.Name, kind, group),
		}
	}
	target := Target{Kind: "Service", Namespace: valueOr(ref.Namespace, from.Namespace), Name: string(ref.Name)}
	key := store.Key(target.Namespace, target.Name)
	if !Permitted(v, objects, from, target) {
		return ir.Backend{}, &Problem{
			Reason: string(gwv1.RouteReasonRefNotPermitted),
			Message: fmt.Sprintf("no ReferenceGrant in namespace %s allows a %s of namespace %s to refer to Service %s",
				target.Namespace, from.Kind, from.Namespace, key),
		}
	}
	service, ok := objects.Services.Get(v, key)
	if !ok {
		return ir.Backend{}, &Problem{Reason: string(gwv1.RouteReasonBackendNotFound), Message: fmt.Sprintf("Service %s does not exist", key)}
	}
	return servicePort(v, objects, service, ref.Port, fallback)
}

func servicePort(v *store.View, objects *store.Objects, service *corev1.Service, number *gwv1.PortNumber, fallback ir.BackendProtocol) (ir.Backend, *Problem) {
	key := store.KeyOf(service)
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return ir.Backend{}, &Problem{
			Reason: string(gwv1.RouteReasonBackendNotFound),
			Message: fmt.Sprintf("Service %s is of type ExternalName, which has no endpoints to route to; "+
				"refer to an XBackend of type ExternalHostname instead", key),
		}
	}
	if number == nil {
		return ir.Backend{}, &Problem{
			Reason:  string(gwv1.RouteReasonBackendNotFound),
			Message: fmt.Sprintf("the reference to Service %s names no port; add one", key),
		}
	}
	transport := corev1.ProtocolTCP
	if fallback == ir.BackendUDP {
		transport = corev1.ProtocolUDP
	}
	for _, port := range service.Spec.Ports {
		if port.Port != *number || transportOf(port.Protocol) != transport {
			continue
		}
		protocol, problem := backendProtocol(v, objects, port, key, fallback)
		if problem != nil {
			return ir.Backend{}, problem
		}
		return ir.Backend{
			Object:   ir.Name{Namespace: service.Namespace, Name: service.Name},
			Port:     *number,
			Protocol: protocol,
		}, nil
	}
	return ir.Backend{}, &Problem{
		Reason:  string(gwv1.RouteReasonBackendNotFound),
		Message: fmt.Sprintf("Service %s has no %s port %d", key, transport, *number),
	}
}

// transportOf: Kubernetes reads no protocol as TCP.
func transportOf(protocol corev1.Protocol) corev1.Protocol {
	if protocol == "" {
		return corev1.ProtocolTCP
	}
	return protocol
}

func backendProtocol(v *store.View, objects *store.Objects, port corev1.ServicePort, key string, fallback ir.BackendProtocol) (ir.BackendProtocol, *Problem) {
	if fallback == ir.BackendTCP || fallback == ir.BackendUDP {
		return fallback, nil
	}
	switch valueOr(port.AppProtocol, "") {
	case appProtocolH2C:
		return ir.BackendHTTP2, nil
	case appProtocolWS:
		return ir.BackendHTTP1, nil
	case appProtocolWSS:
		if hasTLSPolicy(v, objects, key, port.Name) {
			return ir.BackendWSS, nil
		}
		return "", &Problem{
			Reason: string(gwv1.RouteReasonUnsupportedProtocol),
			Message: fmt.Sprintf("port %d of Service %s has appProtocol %s, and no BackendTLSPolicy says which certificate to trust there; add one",
				port.Port, key, appProtocolWSS),
		}
	default:
		return fallback, nil
	}
}

// hasTLSPolicy says whether a BackendTLSPolicy, good or bad, has a say about a port of a Service.
func hasTLSPolicy(v *store.View, objects *store.Objects, service, port string) bool {
	for _, key := range objects.TLSPoliciesByService.Keys(v, service) {
		policy, ok := objects.BackendTLSPolicies.Get(v, key)
		if !ok {
			continue
		}
		for _, target := range policy.Spec.TargetRefs {
			aims := target.Group == coreGroup && target.Kind == "Service" && store.Key(policy.Namespace, string(target.Name)) == service
			if aims && valueOr(target.SectionName, port) == port {
				return true
			}
		}
	}
	return false
}
