package backend

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// coreGroup is the API group of a Service.
const coreGroup = ""

// Resolve resolves a reference to a port of a Service or a ServiceImport, to a Backend, or to an XBackend. They choose the
// version of HTTP; without their choice it is fallback. [ir.BackendTCP] and [ir.BackendUDP] stay as they are.
func Resolve(
	v *store.View, objects *store.Objects, from refs.Origin, ref gwv1.BackendObjectReference, fallback ir.BackendProtocol,
) (ir.Backend, *refs.Problem) {
	switch group, kind := ptr.Deref(ref.Group, coreGroup), ptr.Deref(ref.Kind, "Service"); {
	case group == gwxv1alpha1.GroupName && kind == gwv1.Kind(store.XBackend):
		return xbackend(v, objects, from, ref, fallback)
	case group == v1alpha1.GroupName && kind == gwv1.Kind(store.Backend):
		return fixed(v, objects, from, ref, fallback)
	case group == mcsv1beta1.GroupName && kind == gwv1.Kind(store.ServiceImport):
		return serviceImport(v, objects, from, ref, fallback)
	case group == inferencev1.GroupName && kind == gwv1.Kind(store.InferencePool):
		return ir.Backend{}, &refs.Problem{
			Reason: string(gwv1.RouteReasonInvalidKind),
			Message: fmt.Sprintf("InferencePool %s can get only what rules of HTTPRoutes and GRPCRoutes forward, because no endpoint picker is "+
				"asked elsewhere; refer to a Service, a ServiceImport, a Backend or an XBackend", store.Key(namespaceOf(from, ref), string(ref.Name))),
		}
	case group != coreGroup || kind != "Service":
		return ir.Backend{}, &refs.Problem{
			Reason: string(gwv1.RouteReasonInvalidKind),
			Message: fmt.Sprintf("backend %s has kind %q in group %q, which is not served; refer to a Service, a ServiceImport, "+
				"a Backend or an XBackend", ref.Name, kind, group),
		}
	}
	target := refs.Target{Kind: "Service", Namespace: namespaceOf(from, ref), Name: string(ref.Name)}
	key := store.Key(target.Namespace, target.Name)
	if !refs.Permitted(v, objects, from, target) {
		return ir.Backend{}, &refs.Problem{
			Reason: string(gwv1.RouteReasonRefNotPermitted),
			Message: fmt.Sprintf("no ReferenceGrant in namespace %s allows a %s of namespace %s to refer to Service %s; add one there",
				target.Namespace, from.Kind, from.Namespace, key),
		}
	}
	service, ok := objects.Services.Get(v, key)
	if !ok {
		return ir.Backend{}, &refs.Problem{
			Reason:  string(gwv1.RouteReasonBackendNotFound),
			Message: fmt.Sprintf("Service %s does not exist; create it, or correct the name", key), Missing: key,
		}
	}
	return servicePort(v, objects, from, service, ref.Port, fallback)
}

// namespaceOf returns the namespace that a reference leads to.
func namespaceOf(from refs.Origin, ref gwv1.BackendObjectReference) string {
	return string(ptr.Deref(ref.Namespace, gwv1.Namespace(from.Namespace)))
}

func servicePort(
	v *store.View, objects *store.Objects, from refs.Origin, service *corev1.Service, number *gwv1.PortNumber, fallback ir.BackendProtocol,
) (ir.Backend, *refs.Problem) {
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return ir.Backend{}, &refs.Problem{
			Reason:  string(gwv1.RouteReasonBackendNotFound),
			Message: externalName(service),
		}
	}
	if number == nil {
		return ir.Backend{}, &refs.Problem{
			Reason:  string(gwv1.RouteReasonBackendNotFound),
			Message: fmt.Sprintf("the reference to %s names no port; add one of those it has: %s", title(service), portsOf(service)),
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
		protocol, problem := portProtocol(v, objects, service, port, from, fallback)
		if problem != nil {
			return ir.Backend{}, problem
		}
		of := store.TargetOf(service)
		return ir.Backend{Kind: of.Kind, Object: of.Object, Port: *number, Protocol: protocol}, nil
	}
	return ir.Backend{}, &refs.Problem{
		Reason:  string(gwv1.RouteReasonBackendNotFound),
		Message: wrongPort(service, transport, *number),
	}
}

// transportOf returns the protocol of a port. Kubernetes reads an empty one as TCP.
func transportOf(protocol corev1.Protocol) corev1.Protocol {
	if protocol == "" {
		return corev1.ProtocolTCP
	}
	return protocol
}

// hasTLSPolicy reports whether a BackendTLSPolicy, valid or not, targets a port of a Service or a ServiceImport.
func hasTLSPolicy(v *store.View, objects *store.Objects, service ir.BackendTarget, port string) bool {
	for _, key := range objects.TLSPoliciesByService.Keys(v, service.String()) {
		policy, ok := objects.BackendTLSPolicies.Get(v, key)
		if !ok {
			continue
		}
		for _, target := range policy.Spec.TargetRefs {
			aim, _ := store.BackendTarget(string(target.Group), string(target.Kind), policy.Namespace, string(target.Name))
			if aim == service.String() && string(ptr.Deref(target.SectionName, gwv1.SectionName(port))) == port {
				return true
			}
		}
	}
	return false
}
