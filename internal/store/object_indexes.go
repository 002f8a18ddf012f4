package store

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
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

// tlsPolicyServices lists the Services a policy targets, which are in its own namespace.
func tlsPolicyServices(_ string, p *gwv1.BackendTLSPolicy) []string {
	var services []string
	for _, target := range p.Spec.TargetRefs {
		if target.Group == "" && target.Kind == "Service" {
			services = append(services, Key(p.Namespace, string(target.Name)))
		}
	}
	return services
}

// trafficPolicyTargets lists the Services and XBackends a policy targets, which are in its own namespace.
func trafficPolicyTargets(_ string, p *gwxv1alpha1.XBackendTrafficPolicy) []string {
	var targets []string
	for _, ref := range p.Spec.TargetRefs {
		if target, ok := BackendTarget(string(ref.Group), string(ref.Kind), p.Namespace, string(ref.Name)); ok {
			targets = append(targets, target)
		}
	}
	return targets
}

// BackendTarget names a backend that policies can target: `namespace/name` for a Service, `XBackend/namespace/name` for an XBackend. It is
// false for any other kind.
func BackendTarget(group, kind, namespace, name string) (string, bool) {
	switch {
	case group == "" && kind == string(Service):
		return Key(namespace, name), true
	case group == gwxv1alpha1.GroupName && kind == string(XBackend):
		return string(XBackend) + "/" + Key(namespace, name), true
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

func serviceXBackend(_ string, s *corev1.Service) []string {
	owner := metav1.GetControllerOfNoCopy(s)
	if owner == nil || owner.Kind != string(XBackend) || !strings.HasPrefix(owner.APIVersion, gwxv1alpha1.GroupName+"/") {
		return nil
	}
	return []string{Key(s.Namespace, owner.Name)}
}

func anyNode(string, *corev1.Node) []string { return []string{""} }

func sliceService(_ string, s *discoveryv1.EndpointSlice) []string {
	service := s.Labels[discoveryv1.LabelServiceName]
	if service == "" {
		return nil
	}
	return []string{Key(s.Namespace, service)}
}
