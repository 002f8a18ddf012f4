package store

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/limits"
)

// Kind names a kind of object that is watched.
type Kind string

// The kinds that are watched.
const (
	GatewayClass          Kind = "GatewayClass"
	Gateway               Kind = "Gateway"
	ListenerSet           Kind = "ListenerSet"
	HTTPRoute             Kind = "HTTPRoute"
	GRPCRoute             Kind = "GRPCRoute"
	TLSRoute              Kind = "TLSRoute"
	TCPRoute              Kind = "TCPRoute"
	UDPRoute              Kind = "UDPRoute"
	BackendTLSPolicy      Kind = "BackendTLSPolicy"
	ReferenceGrant        Kind = "ReferenceGrant"
	XBackendTrafficPolicy Kind = "XBackendTrafficPolicy"
	XBackend              Kind = "XBackend"
	XTelemetryPolicy      Kind = "XTelemetryPolicy"
	Namespace             Kind = "Namespace"
	Service               Kind = "Service"
	Secret                Kind = "Secret"
	ConfigMap             Kind = "ConfigMap"
	EndpointSlice         Kind = "EndpointSlice"
	Node                  Kind = "Node"
	Deployment            Kind = "Deployment"
	DaemonSet             Kind = "DaemonSet"
	ProxyConfig           Kind = "ProxyConfig"

	// ClusterTrustBundle is a kind of Kubernetes that a cluster may not serve.
	ClusterTrustBundle Kind = "ClusterTrustBundle"
	// CustomResourceDefinition is watched for what it says about the kinds above.
	CustomResourceDefinition Kind = "CustomResourceDefinition"
)

// Change is one object that came, changed or went.
type Change struct {
	Kind Kind
	// Key is `namespace/name`, or the name alone for what has no namespace.
	Key string
	// Object is nil when the object is gone. It is never modified.
	Object metav1.Object
}

// Objects holds a table for each watched kind. Every table is keyed by [Key].
type Objects struct {
	// System is the namespace that Gatewright runs in, empty if what is there is not watched. It is set before anything is computed.
	System string
	// Limits is how much a tenant may take. They are set before anything is computed.
	Limits limits.Limits
	// ClusterDomain is the DNS domain of the cluster, empty for the usual one. It is set before anything is computed.
	ClusterDomain string
	// NoExternalHostnames says that XBackends may not lead out of the cluster. It is set before anything is computed.
	NoExternalHostnames bool
	// Controller is the name by which a GatewayClass chooses this installation, empty for the default. It is set before anything is computed.
	Controller gwv1.GatewayController

	GatewayClasses         *Table[*gwv1.GatewayClass]
	Gateways               *Table[*gwv1.Gateway]
	ListenerSets           *Table[*gwv1.ListenerSet]
	HTTPRoutes             *Table[*gwv1.HTTPRoute]
	GRPCRoutes             *Table[*gwv1.GRPCRoute]
	TLSRoutes              *Table[*gwv1.TLSRoute]
	TCPRoutes              *Table[*gwv1.TCPRoute]
	UDPRoutes              *Table[*gwv1.UDPRoute]
	BackendTLSPolicies     *Table[*gwv1.BackendTLSPolicy]
	ReferenceGrants        *Table[*gwv1.ReferenceGrant]
	Namespaces             *Table[*corev1.Namespace]
	Services               *Table[*corev1.Service]
	Secrets                *Table[*corev1.Secret]
	ConfigMaps             *Table[*corev1.ConfigMap]
	EndpointSlices         *Table[*discoveryv1.EndpointSlice]
	Nodes                  *Table[*corev1.Node]
	Deployments            *Table[*appsv1.Deployment]
	DaemonSets             *Table[*appsv1.DaemonSet]
	ProxyConfigs           *Table[*v1alpha1.ProxyConfig]
	ClusterTrustBundles    *Table[*certificatesv1.ClusterTrustBundle]
	Definitions            *Table[*apiextensionsv1.CustomResourceDefinition]
	BackendTrafficPolicies *Table[*gwxv1alpha1.XBackendTrafficPolicy]
	XBackends              *Table[*gwxv1alpha1.XBackend]
	TelemetryPolicies      *Table[*gwxv1alpha1.XTelemetryPolicy]

	// GrantsByNamespace finds the ReferenceGrants of a namespace.
	GrantsByNamespace *Index[*gwv1.ReferenceGrant]
	// ListenerSetsByGateway finds the ListenerSets that name the Gateway `namespace/name` as their parent.
	ListenerSetsByGateway *Index[*gwv1.ListenerSet]
	// TLSPoliciesByService finds the BackendTLSPolicies that target the Service `namespace/name`, whichever of its ports.
	TLSPoliciesByService *Index[*gwv1.BackendTLSPolicy]
	// TrafficPoliciesByTarget finds the XBackendTrafficPolicies that target the Service `namespace/name`, or the XBackend
	// `XBackend/namespace/name`.
	TrafficPoliciesByTarget *Index[*gwxv1alpha1.XBackendTrafficPolicy]
	// TelemetryPoliciesByGateway finds the XTelemetryPolicies that target the Gateway `namespace/name`.
	TelemetryPoliciesByGateway *Index[*gwxv1alpha1.XTelemetryPolicy]
	// ServicesByXBackend finds the Services that are owned by the XBackend `namespace/name`, whichever of that name.
	ServicesByXBackend *Index[*corev1.Service]
	// AllNodes finds every Node, under the empty key.
	AllNodes *Index[*corev1.Node]
	// SlicesByService finds the EndpointSlices of the Service `namespace/name`.
	SlicesByService *Index[*discoveryv1.EndpointSlice]

	sinks map[Kind]sink
}

// NewObjects adds the tables of all watched kinds to a Store.
func NewObjects(s *Store) *Objects {
	o := &Objects{
		Limits: limits.Defaults(),

		GatewayClasses:         NewTable[*gwv1.GatewayClass](s, string(GatewayClass)),
		Gateways:               NewTable[*gwv1.Gateway](s, string(Gateway)),
		ListenerSets:           NewTable[*gwv1.ListenerSet](s, string(ListenerSet)),
		HTTPRoutes:             NewTable[*gwv1.HTTPRoute](s, string(HTTPRoute)),
		GRPCRoutes:             NewTable[*gwv1.GRPCRoute](s, string(GRPCRoute)),
		TLSRoutes:              NewTable[*gwv1.TLSRoute](s, string(TLSRoute)),
		TCPRoutes:              NewTable[*gwv1.TCPRoute](s, string(TCPRoute)),
		UDPRoutes:              NewTable[*gwv1.UDPRoute](s, string(UDPRoute)),
		BackendTLSPolicies:     NewTable[*gwv1.BackendTLSPolicy](s, string(BackendTLSPolicy)),
		ReferenceGrants:        NewTable[*gwv1.ReferenceGrant](s, string(ReferenceGrant)),
		Namespaces:             NewTable[*corev1.Namespace](s, string(Namespace)),
		Services:               NewTable[*corev1.Service](s, string(Service)),
		Secrets:                NewTable[*corev1.Secret](s, string(Secret)),
		ConfigMaps:             NewTable[*corev1.ConfigMap](s, string(ConfigMap)),
		EndpointSlices:         NewTable[*discoveryv1.EndpointSlice](s, string(EndpointSlice)),
		Nodes:                  NewTable[*corev1.Node](s, string(Node)),
		Deployments:            NewTable[*appsv1.Deployment](s, string(Deployment)),
		DaemonSets:             NewTable[*appsv1.DaemonSet](s, string(DaemonSet)),
		ProxyConfigs:           NewTable[*v1alpha1.ProxyConfig](s, string(ProxyConfig)),
		ClusterTrustBundles:    NewTable[*certificatesv1.ClusterTrustBundle](s, string(ClusterTrustBundle)),
		Definitions:            NewTable[*apiextensionsv1.CustomResourceDefinition](s, string(CustomResourceDefinition)),
		BackendTrafficPolicies: NewTable[*gwxv1alpha1.XBackendTrafficPolicy](s, string(XBackendTrafficPolicy)),
		XBackends:              NewTable[*gwxv1alpha1.XBackend](s, string(XBackend)),
		TelemetryPolicies:      NewTable[*gwxv1alpha1.XTelemetryPolicy](s, string(XTelemetryPolicy)),
	}
	o.GrantsByNamespace = NewIndex(o.ReferenceGrants, "ReferenceGrant.byNamespace", grantNamespace)
	o.ListenerSetsByGateway = NewIndex(o.ListenerSets, "ListenerSet.byGateway", listenerSetGateway)
	o.TLSPoliciesByService = NewIndex(o.BackendTLSPolicies, "BackendTLSPolicy.byService", tlsPolicyServices)
	o.TrafficPoliciesByTarget = NewIndex(o.BackendTrafficPolicies, "XBackendTrafficPolicy.byTarget", trafficPolicyTargets)
	o.TelemetryPoliciesByGateway = NewIndex(o.TelemetryPolicies, "XTelemetryPolicy.byGateway", telemetryPolicyGateways)
	o.ServicesByXBackend = NewIndex(o.Services, "Service.byXBackend", serviceXBackend)
	o.AllNodes = NewIndex(o.Nodes, "Node.all", anyNode)
	o.SlicesByService = NewIndex(o.EndpointSlices, "EndpointSlice.byService", sliceService)
	o.sinks = map[Kind]sink{
		GatewayClass:          into(o.GatewayClasses),
		Gateway:               into(o.Gateways),
		ListenerSet:           into(o.ListenerSets),
		HTTPRoute:             into(o.HTTPRoutes),
		GRPCRoute:             into(o.GRPCRoutes),
		TLSRoute:              into(o.TLSRoutes),
		TCPRoute:              into(o.TCPRoutes),
		UDPRoute:              into(o.UDPRoutes),
		BackendTLSPolicy:      into(o.BackendTLSPolicies),
		ReferenceGrant:        into(o.ReferenceGrants),
		XBackendTrafficPolicy: into(o.BackendTrafficPolicies),
		XBackend:              into(o.XBackends),
		XTelemetryPolicy:      into(o.TelemetryPolicies),
		Namespace:             into(o.Namespaces),
		Service:               into(o.Services),
		Secret:                into(o.Secrets),
		ConfigMap:             into(o.ConfigMaps),
		EndpointSlice:         into(o.EndpointSlices),
		Node:                  into(o.Nodes),
		Deployment:            into(o.Deployments),
		DaemonSet:             into(o.DaemonSets),
		ProxyConfig:           into(o.ProxyConfigs),

		ClusterTrustBundle:       into(o.ClusterTrustBundles),
		CustomResourceDefinition: into(o.Definitions),
	}
	return o
}

// Apply brings one change into its table.
func (o *Objects) Apply(c Change) { o.sinks[c.Kind](c) }

// Key is the key of an object in its table.
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// KeyOf is the [Key] of an object.
func KeyOf(object metav1.Object) string { return Key(object.GetNamespace(), object.GetName()) }

// SplitKey is the inverse of [Key].
func SplitKey(key string) (namespace, name string) {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return "", key
	}
	return namespace, name
}

type sink func(Change)

func into[V metav1.Object](t *Table[V]) sink {
	return func(c Change) {
		if c.Object == nil {
			t.Delete(c.Key)
			return
		}
		object, ok := c.Object.(V)
		if !ok {
			panic(fmt.Sprintf("a change of %s %s carries a %T", c.Kind, c.Key, c.Object))
		}
		t.Set(c.Key, object)
	}
}
