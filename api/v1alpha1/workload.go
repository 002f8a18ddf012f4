package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Autoscaling is a HorizontalPodAutoscaler.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas is more than maxReplicas"
type Autoscaling struct {
	// MinReplicas is the least number of proxies. The default is two.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is the largest number of proxies.
	//
	// +kubebuilder:validation:Minimum=1
	// +required
	MaxReplicas int32 `json:"maxReplicas"`

	// Metrics are what the number is computed from. The default is a CPU use of 80% of what is requested.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitzero"`

	// Behavior is how fast the number follows.
	//
	// +optional
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
}

// DisruptionBudget is a PodDisruptionBudget.
//
// +kubebuilder:validation:XValidation:rule="has(self.minAvailable) != has(self.maxUnavailable)",message="exactly one of minAvailable and maxUnavailable is needed"
type DisruptionBudget struct {
	// MinAvailable is how many proxies, or how many per cent, must stay when others are evicted.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 10000 : self.matches('^[0-9]{1,2}%$|^100%$')",message="must be a number or a percentage"
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// MaxUnavailable is how many proxies, or how many per cent, may be evicted at a time.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 10000 : self.matches('^[0-9]{1,2}%$|^100%$')",message="must be a number or a percentage"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// Pod is what the pods of the proxies are like.
type Pod struct {
	// Image is the proxy's image: an Envoy of the minor version that Gatewright is made for. The default is the one that Gatewright was
	// installed with.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Image *string `json:"image,omitempty"`

	// ImagePullSecrets are Secrets, in the namespace of the pods, for the registry of the image.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitzero"`

	// Resources are what each proxy requests and may use. The default requests 50m of CPU and 128Mi of memory, and limits memory to 1Gi;
	// a ProxyConfig that sets any of it sets all of it. A proxy sheds load before it reaches its memory limit; without a limit it does not.
	//
	// +optional
	Resources *Resources `json:"resources,omitempty"`

	// Labels are added to the pods. Those by which Gatewright knows its pods stay as they are.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="not the name of a label"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="not the value of a label"
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// Annotations are added to the pods.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="not the name of an annotation"
	// +optional
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// NodeSelector chooses nodes by their labels.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// Affinity chooses nodes by rules.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// Tolerations let pods onto tainted nodes.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitzero"`

	// TopologySpreadConstraints spread the pods. The default spreads them over zones and over nodes, as far as that is possible. One without
	// a labelSelector is about the pods of the same fleet.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitzero"`

	// HostPorts Enabled opens the ports of the Gateway on the nodes that its proxies run on, for clusters without load balancers. It needs
	// workload DaemonSet, and a namespace that does not enforce a Pod Security Standard. The Gateway has the addresses of the nodes that
	// nodeSelector selects, and its Service is of type ClusterIP unless service.type says otherwise. A new port replaces the proxies, one
	// after the other. A Gateway's own ProxyConfig can have it only if that of the class has `hostPorts: Allowed`. The default is Disabled.
	//
	// +optional
	HostPorts *PodHostPorts `json:"hostPorts,omitempty"`

	// User is who the proxies run as: Fixed, the default, is user, group and file system group 65532. Assigned leaves all three out, for
	// clusters that assign them, such as OpenShift.
	//
	// +optional
	User *PodUser `json:"user,omitempty"`

	// PriorityClassName is the pods' priority.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
}

// PodHostPorts is whether the ports of a Gateway are opened on nodes.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type PodHostPorts string

// Whether ports are opened on nodes.
const (
	PodHostPortsEnabled  PodHostPorts = "Enabled"
	PodHostPortsDisabled PodHostPorts = "Disabled"
)

// PodUser is who chooses the user that proxies run as.
//
// +kubebuilder:validation:Enum=Fixed;Assigned
type PodUser string

// Who chooses the user.
const (
	PodUserFixed    PodUser = "Fixed"
	PodUserAssigned PodUser = "Assigned"
)

// Resources are what each proxy requests and may use.
type Resources struct {
	// Requests is what the scheduler reserves for a proxy.
	//
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// Limits is what a proxy may use at most.
	//
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// AnnotationValue is the value of an annotation.
//
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// Patches are strategic merge patches of the rendered objects. None can make a pod privileged, give it another ServiceAccount or the host's
// files, network or processes, or change the names, labels and selectors by which Gatewright knows its objects: a Gateway whose patch tries
// is told so, and its fleet stays as it is.
type Patches struct {
	// Deployment is a patch of the Deployment.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +optional
	Deployment *runtime.RawExtension `json:"deployment,omitempty"`

	// DaemonSet is a patch of the DaemonSet.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +optional
	DaemonSet *runtime.RawExtension `json:"daemonSet,omitempty"`

	// Service is a patch of the Service.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +optional
	Service *runtime.RawExtension `json:"service,omitempty"`
}
