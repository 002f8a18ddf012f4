package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Service is what the Service in front of the proxies is like.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'ClusterIP' || !(has(self.nodePorts) || has(self.externalTrafficPolicy) || has(self.loadBalancerClass) || has(self.loadBalancerSourceRanges))",message="a ClusterIP Service has no nodePorts, externalTrafficPolicy, loadBalancerClass or loadBalancerSourceRanges"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'NodePort' || !(has(self.loadBalancerClass) || has(self.loadBalancerSourceRanges))",message="a NodePort Service has no loadBalancerClass or loadBalancerSourceRanges"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || self.ipFamilies.size() < 2 || (has(self.ipFamilyPolicy) && self.ipFamilyPolicy != 'SingleStack')",message="two ipFamilies need the ipFamilyPolicy PreferDualStack or RequireDualStack"
type Service struct {
	// Type is LoadBalancer, the default, NodePort or ClusterIP. A Gateway that asks only for addresses inside the cluster has a ClusterIP
	// Service, whatever this says.
	//
	// +kubebuilder:validation:Enum=LoadBalancer;NodePort;ClusterIP
	// +optional
	Type *corev1.ServiceType `json:"type,omitempty"`

	// Annotations are added to the Service. Most load balancers are told by them what to do.
	//
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="not the name of an annotation"
	// +optional
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// LoadBalancerClass chooses who provides the load balancer. A Service keeps its class for life.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +optional
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`

	// LoadBalancerSourceRanges are the networks whose clients the load balancer lets in.
	//
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.all(range, isCIDR(range))",message="each range is a network, such as 192.0.2.0/24"
	// +listType=atomic
	// +optional
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitzero"`

	// ExternalTrafficPolicy Local keeps the client's address and sends traffic only to proxies on the node that it reaches. The default is
	// Cluster.
	//
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	ExternalTrafficPolicy *corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// InternalTrafficPolicy Local has clients in the cluster use only the proxies on their own node. The default is Cluster.
	//
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	InternalTrafficPolicy *corev1.ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty"`

	// NodePorts choose the ports of nodes that lead to ports of the Gateway. Kubernetes chooses for the others.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	// +optional
	NodePorts []NodePort `json:"nodePorts,omitzero"`

	// IPFamilies are the families of the Service's own addresses, the first one first.
	//
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	// +kubebuilder:validation:XValidation:rule="self.size() < 2 || self[0] != self[1]",message="the two families must differ"
	// +listType=atomic
	// +optional
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitzero"`

	// IPFamilyPolicy is whether the Service has addresses of one family or both.
	//
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	// +optional
	IPFamilyPolicy *corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`
}

// NodePort is a port of every node that leads to a port of the Gateway.
type NodePort struct {
	// Port is a port of the Gateway.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port"`

	// Protocol is that of the port, TCP or UDP.
	//
	// +kubebuilder:validation:Enum=TCP;UDP
	// +kubebuilder:default=TCP
	// +optional
	Protocol corev1.Protocol `json:"protocol,omitempty"`

	// NodePort is the port of the nodes.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	NodePort int32 `json:"nodePort"`
}
