package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ProxyConfig says how the proxies of Gateways are run. A GatewayClass refers to one by `parametersRef`, for all of its Gateways, and a
// Gateway to another of its own namespace by `infrastructure.parametersRef`. Where both say something the Gateway's wins, field by field:
// objects are merged, whereas lists, and the objects that offer a choice (`disruptionBudget`, a patch, a `backendRef`), are replaced as a
// whole. `replicas` and `autoscaling` replace each other.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=gatewright
// +kubebuilder:printcolumn:name="Workload",type=string,JSONPath=`.spec.workload`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.service.type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
type ProxyConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is how proxies are run. Whatever is left out has a good default.
	//
	// +required
	Spec ProxyConfigSpec `json:"spec"`
}

// ProxyConfigList is a list of ProxyConfigs.
//
// +kubebuilder:object:root=true
type ProxyConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ProxyConfig `json:"items"`
}

// ProxyConfigSpec is how proxies are run.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.replicas) && has(self.autoscaling))",message="replicas and autoscaling exclude each other; use autoscaling.minReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.workload) || self.workload != 'DaemonSet' || !(has(self.replicas) || has(self.autoscaling) || has(self.disruptionBudget))",message="a DaemonSet has one proxy on each node; leave out replicas, autoscaling and disruptionBudget"
// +kubebuilder:validation:XValidation:rule="!has(self.patches) || !has(self.patches.daemonSet) || (has(self.workload) && self.workload == 'DaemonSet')",message="patches.daemonSet needs workload DaemonSet"
// +kubebuilder:validation:XValidation:rule="!has(self.patches) || !has(self.patches.deployment) || !has(self.workload) || self.workload == 'Deployment'",message="patches.deployment needs workload Deployment"
type ProxyConfigSpec struct {
	// Workload is what runs the proxies: a Deployment, or a DaemonSet with one on each node. The default is Deployment.
	//
	// +optional
	Workload *WorkloadKind `json:"workload,omitempty"`

	// Replicas is the number of proxies. Without it, and without autoscaling, Gatewright leaves the number alone: it begins with one and
	// a user or an autoscaler scales the Deployment.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Autoscaling has a HorizontalPodAutoscaler choose the number of proxies. Gatewright then never writes that number.
	//
	// +optional
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`

	// DisruptionBudget is how many proxies may be evicted at a time. The default, for two or more proxies, is one.
	//
	// +optional
	DisruptionBudget *DisruptionBudget `json:"disruptionBudget,omitempty"`

	// Pod is what the pods of the proxies are like.
	//
	// +optional
	Pod *Pod `json:"pod,omitempty"`

	// Service is what the Service in front of the proxies is like.
	//
	// +optional
	Service *Service `json:"service,omitempty"`

	// Concurrency is the number of threads that serve requests in each proxy. The default is the CPU limit, rounded up. Without a limit it is
	// the CPU request, rounded up, and at least two.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	// +optional
	Concurrency *int32 `json:"concurrency,omitempty"`

	// Limits bound what clients, and Gateways, can take of each proxy.
	//
	// +optional
	Limits *Limits `json:"limits,omitempty"`

	// AccessLogs is where requests and connections are written down. The default is one line of JSON for each on standard output; an empty
	// list writes none.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	AccessLogs []AccessLog `json:"accessLogs,omitzero"`

	// Metrics is what proxies count, and for whom.
	//
	// +optional
	Metrics *Metrics `json:"metrics,omitempty"`

	// Tracing has requests become spans of OpenTelemetry. An XTelemetryPolicy that targets the Gateway replaces it as a whole.
	//
	// +optional
	Tracing *Tracing `json:"tracing,omitempty"`

	// Drain is how a proxy that is to end lets go of its clients.
	//
	// +optional
	Drain *Drain `json:"drain,omitempty"`

	// Delivery is how configuration reaches the proxies: XDS, the default, streams it from Gatewright. Files lays it into their pods as
	// files, in ConfigMaps and Secrets, so that no proxy connects to Gatewright; it must be switched on where Gatewright is installed.
	// Another delivery replaces the proxies, in order.
	//
	// +optional
	Delivery *Delivery `json:"delivery,omitempty"`

	// Placement is where the proxies run: GatewayNamespace, the default, is the namespace of their Gateway, GatewrightNamespace the one that
	// Gatewright runs in. Shared runs one set of proxies there for all Gateways of the class; each Gateway keeps a Service, and so an
	// address, of its own. Only the ProxyConfig of a GatewayClass can choose it.
	//
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// DefaultGateways is whether Gateways may take routes that do not name them, by `defaultScope`: such a Gateway gets the routes with
	// `useDefaultGateways` of every namespace that its listeners allow. Ignored, the default, leaves `defaultScope`
	// without effect. Only the ProxyConfig of a GatewayClass can choose it.
	//
	// +optional
	DefaultGateways *DefaultGateways `json:"defaultGateways,omitempty"`

	// HostPorts is whether Gateways may open their ports on the nodes, by `pod.hostPorts` of their own ProxyConfig. With Denied, the
	// default, only the ProxyConfig of the GatewayClass can have `pod.hostPorts`. Only the ProxyConfig of a GatewayClass can choose it.
	//
	// +optional
	HostPorts *HostPorts `json:"hostPorts,omitempty"`

	// GeoIP has databases in which proxies find where the address of a client is, for clientIPGeoLocations of SecurityPolicies.
	//
	// +optional
	GeoIP *GeoIP `json:"geoIP,omitempty"`

	// Patches change the rendered objects where no field does. They are the last resort: they can break a fleet, and what they touch may
	// change with any version of Gatewright.
	//
	// +optional
	Patches *Patches `json:"patches,omitempty"`
}

// WorkloadKind is what runs the proxies.
//
// +kubebuilder:validation:Enum=Deployment;DaemonSet
type WorkloadKind string

// The kinds of workloads.
const (
	DeploymentWorkload WorkloadKind = "Deployment"
	DaemonSetWorkload  WorkloadKind = "DaemonSet"
)

// Delivery is how configuration reaches the proxies.
//
// +kubebuilder:validation:Enum=XDS;Files
type Delivery string

// The ways in which configuration reaches proxies.
const (
	// DeliveryXDS streams it from Gatewright.
	DeliveryXDS Delivery = "XDS"
	// DeliveryFiles lays it into the proxies' pods.
	DeliveryFiles Delivery = "Files"
)

// Placement is where the proxies run.
//
// +kubebuilder:validation:Enum=GatewayNamespace;GatewrightNamespace;Shared
type Placement string

// The places where proxies can run.
const (
	PlacementGatewayNamespace    Placement = "GatewayNamespace"
	PlacementGatewrightNamespace Placement = "GatewrightNamespace"
	PlacementShared              Placement = "Shared"
)

// DefaultGateways is whether Gateways may take routes that do not name them.
//
// +kubebuilder:validation:Enum=Ignored;Allowed
type DefaultGateways string

// What becomes of a Gateway's `defaultScope`.
const (
	DefaultGatewaysIgnored DefaultGateways = "Ignored"
	DefaultGatewaysAllowed DefaultGateways = "Allowed"
)

// HostPorts is whether Gateways may open their ports on the nodes.
//
// +kubebuilder:validation:Enum=Denied;Allowed
type HostPorts string

// What Gateways may do with ports of nodes.
const (
	HostPortsDenied  HostPorts = "Denied"
	HostPortsAllowed HostPorts = "Allowed"
)

// Limits bound what clients, and Gateways, can take of each proxy.
type Limits struct {
	// Connections is how many connections from clients a proxy holds at a time, over all listeners; more are refused. The default is 50000.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Connections *int64 `json:"connections,omitempty"`

	// PortsPerNamespace is how many ports the Gateways of one namespace can have together on the proxies that they share with others. It
	// counts in the ProxyConfig of a GatewayClass with placement Shared, whose proxies have 12768 in all. A Gateway that wants more says so,
	// and keeps the ports that it has. The default is 1024.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=12768
	// +optional
	PortsPerNamespace *int32 `json:"portsPerNamespace,omitempty"`
}

// Drain is how a proxy that is to end lets go of its clients.
type Drain struct {
	// Delay is for how long no new connection may have come before a proxy that is to end assumes that all senders know; as long as they come,
	// it stays. It is the least time that a proxy takes to end. It should be longer than a load balancer in front needs to
	// notice that a pod is going. The default is 5s.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('10m')",message="delay is at most 10m"
	// +optional
	Delay *gwv1.Duration `json:"delay,omitempty"`

	// Timeout is how long requests and connections may take to finish, beside the delay. What is left is cut off. Clients are told to go one
	// after the other within two thirds of it, which is also what connections of a listener that changed have. The default is 90s.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="timeout is at most 24h"
	// +optional
	Timeout *gwv1.Duration `json:"timeout,omitempty"`
}
