package store

import (
	discoveryv1 "k8s.io/api/discovery/v1"
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

// trafficPolicyServices lists the Services a policy targets, which are in its own namespace.
func trafficPolicyServices(_ string, p *gwxv1alpha1.XBackendTrafficPolicy) []string {
	var services []string
	for _, target := range p.Spec.TargetRefs {
		if target.Group == "" && target.Kind == "Service" {
			services = append(services, Key(p.Namespace, string(target.Name)))
		}
	}
	return services
}

func sliceService(_ string, s *discoveryv1.EndpointSlice) []string {
	service := s.Labels[discoveryv1.LabelServiceName]
	if service == "" {
		return nil
	}
	return []string{Key(s.Namespace, service)}
}
