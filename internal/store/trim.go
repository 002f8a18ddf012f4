package store

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// trimNamespace keeps the labels, which is all that selectors look at.
func trimNamespace(n *corev1.Namespace) {
	if n.Annotations != nil {
		n.Annotations = nil
	}
}

// trimSecret keeps nothing secret in memory that is not served: a TLS Secret may carry key stores and more beside its certificate.
func trimSecret(s *corev1.Secret) {
	if s.Annotations != nil {
		s.Annotations = nil
	}
	served := make(map[string][]byte, len(s.Data))
	for _, name := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, corev1.ServiceAccountRootCAKey} {
		if value, ok := s.Data[name]; ok {
			served[name] = value
		}
	}
	if len(served) != len(s.Data) {
		s.Data = served
	}
}

// trimConfigMap keeps certificates of authorities, the only thing that is read from a ConfigMap.
func trimConfigMap(c *corev1.ConfigMap) {
	if c.Annotations != nil {
		c.Annotations = nil
	}
	if binary, ok := c.BinaryData[corev1.ServiceAccountRootCAKey]; ok {
		c.BinaryData = map[string][]byte{corev1.ServiceAccountRootCAKey: binary}
	} else if c.BinaryData != nil {
		c.BinaryData = nil
	}
	authorities, ok := c.Data[corev1.ServiceAccountRootCAKey]
	switch {
	case !ok && c.Data != nil:
		c.Data = nil
	case len(c.Data) > 1:
		c.Data = map[string]string{corev1.ServiceAccountRootCAKey: authorities}
	}
}

// trimNode keeps the labels and the addresses: a Node has a long list of images, and changes often.
func trimNode(n *corev1.Node) {
	if n.Annotations != nil {
		n.Annotations = nil
	}
	if !equality.Semantic.DeepEqual(n.Spec, corev1.NodeSpec{}) {
		n.Spec = corev1.NodeSpec{}
	}
	if kept := (corev1.NodeStatus{Addresses: n.Status.Addresses}); !equality.Semantic.DeepEqual(n.Status, kept) {
		n.Status = kept
	}
}

// trimEndpointSlice keeps where endpoints are and how they are, and which object stands behind them only for the proxies of a Gateway.
func trimEndpointSlice(s *discoveryv1.EndpointSlice) {
	if s.Annotations != nil {
		s.Annotations = nil
	}
	for i := range s.Endpoints {
		endpoint := &s.Endpoints[i]
		if endpoint.TargetRef != nil && s.Labels[gwv1.GatewayNameLabelKey] == "" {
			endpoint.TargetRef = nil
		}
		if endpoint.DeprecatedTopology != nil {
			endpoint.DeprecatedTopology = nil
		}
	}
}
