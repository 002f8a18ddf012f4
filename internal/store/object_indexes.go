package store

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

func grantNamespace(_ string, g *gwv1.ReferenceGrant) []string { return []string{g.Namespace} }

func listenerSetGateway(_ string, s *gwv1.ListenerSet) []string {
	gateway, ok := ParentGateway(s)
	if !ok {
		return nil
	}
	return []string{gateway}
}

// ParentGateway is the key of the Gateway that a ListenerSet names as its parent, and false when it names something else.
func ParentGateway(s *gwv1.ListenerSet) (string, bool) {
	ref := s.Spec.ParentRef
	if (ref.Group != nil && *ref.Group != gwv1.GroupName) || (ref.Kind != nil && *ref.Kind != gwv1.Kind(Gateway)) {
		return "", false
	}
	namespace := s.Namespace
	if ref.Namespace != nil {
		namespace = string(*ref.Namespace)
	}
	return Key(namespace, string(ref.Name)), true
}

// tlsPolicyServices lists the backends a policy targets, which are in its own namespace.
func tlsPolicyServices(_ string, p *gwv1.BackendTLSPolicy) []string {
	var services []string
	for _, target := range p.Spec.TargetRefs {
		if service, ok := BackendTarget(string(target.Group), string(target.Kind), p.Namespace, string(target.Name)); ok {
			services = append(services, service)
		}
	}
	return services
}

// trafficPolicyTargets lists the Services, XBackends and ServiceImports a policy targets, which are in its own namespace.
func trafficPolicyTargets(_ string, p *gwxv1alpha1.XBackendTrafficPolicy) []string {
	var targets []string
	for _, ref := range p.Spec.TargetRefs {
		if target, ok := BackendTarget(string(ref.Group), string(ref.Kind), p.Namespace, string(ref.Name)); ok {
			targets = append(targets, target)
		}
	}
	return targets
}

// BackendTarget names a backend that policies can target: `namespace/name` for a Service, `<kind>/namespace/name` for an XBackend or a
// ServiceImport. It is false for any other kind.
func BackendTarget(group, kind, namespace, name string) (string, bool) {
	switch {
	case group == "" && kind == string(Service):
		return Key(namespace, name), true
	case group == gwxv1alpha1.GroupName && kind == string(XBackend):
		return string(XBackend) + "/" + Key(namespace, name), true
	case group == mcsv1beta1.GroupName && kind == string(ServiceImport):
		return string(ServiceImport) + "/" + Key(namespace, name), true
	default:
		return "", false
	}
}

// telemetryPolicyGateways lists the Gateways a policy targets, which are in its own namespace.
func telemetryPolicyGateways(_ string, p *gwxv1alpha1.XTelemetryPolicy) []string {
	var gateways []string
	for _, ref := range p.Spec.TargetRefs {
		if ref.Group == gwv1.GroupName && ref.Kind == gwv1.Kind(Gateway) {
			gateways = append(gateways, Key(p.Namespace, string(ref.Name)))
		}
	}
	return gateways
}

// ownedBy finds the object of that kind that a Service was made for.
func ownedBy(group string, kind Kind) func(string, *corev1.Service) []string {
	return func(_ string, s *corev1.Service) []string {
		owner := metav1.GetControllerOfNoCopy(s)
		if owner == nil || owner.Kind != string(kind) || !strings.HasPrefix(owner.APIVersion, group+"/") {
			return nil
		}
		return []string{Key(s.Namespace, owner.Name)}
	}
}

func anyNode(string, *corev1.Node) []string { return []string{""} }

func sliceService(_ string, s *discoveryv1.EndpointSlice) []string {
	service := s.Labels[discoveryv1.LabelServiceName]
	if service == "" {
		return nil
	}
	return []string{Key(s.Namespace, service)}
}
