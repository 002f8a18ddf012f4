package store

import (
	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	inferencexv1alpha1 "sigs.k8s.io/gateway-api-inference-extension/apix/v1alpha1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

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
	ClientTrafficPolicy   Kind = "ClientTrafficPolicy"
	HTTPRouteFilter       Kind = "HTTPRouteFilter"
	Backend               Kind = "Backend"
	Extension             Kind = "Extension"
	BackendTrafficPolicy  Kind = "BackendTrafficPolicy"
	SecurityPolicy        Kind = "SecurityPolicy"
	InferencePool         Kind = "InferencePool"
	InferencePoolImport   Kind = "InferencePoolImport"
	ServiceImport         Kind = "ServiceImport"

	// ClusterTrustBundle is a kind of Kubernetes that a cluster may not serve.
	ClusterTrustBundle Kind = "ClusterTrustBundle"
	// CustomResourceDefinition is watched for what it says about the kinds above.
	CustomResourceDefinition Kind = "CustomResourceDefinition"
)

// tables is one table for each watched kind, and the indexes of them. Every table is keyed by [Key].
type tables struct {
	GatewayClasses          *Table[*gwv1.GatewayClass]
	Gateways                *Table[*gwv1.Gateway]
	ListenerSets            *Table[*gwv1.ListenerSet]
	HTTPRoutes              *Table[*gwv1.HTTPRoute]
	GRPCRoutes              *Table[*gwv1.GRPCRoute]
	TLSRoutes               *Table[*gwv1.TLSRoute]
	TCPRoutes               *Table[*gwv1.TCPRoute]
	UDPRoutes               *Table[*gwv1.UDPRoute]
	BackendTLSPolicies      *Table[*gwv1.BackendTLSPolicy]
	ReferenceGrants         *Table[*gwv1.ReferenceGrant]
	Namespaces              *Table[*corev1.Namespace]
	Services                *Table[*corev1.Service]
	Secrets                 *Table[*corev1.Secret]
	ConfigMaps              *Table[*corev1.ConfigMap]
	EndpointSlices          *Table[*discoveryv1.EndpointSlice]
	Nodes                   *Table[*corev1.Node]
	Deployments             *Table[*appsv1.Deployment]
	DaemonSets              *Table[*appsv1.DaemonSet]
	ProxyConfigs            *Table[*v1alpha1.ProxyConfig]
	ClientTrafficPolicies   *Table[*v1alpha1.ClientTrafficPolicy]
	BackendTrafficPolicies  *Table[*v1alpha1.BackendTrafficPolicy]
	HTTPRouteFilters        *Table[*v1alpha1.HTTPRouteFilter]
	Backends                *Table[*v1alpha1.Backend]
	Extensions              *Table[*v1alpha1.Extension]
	SecurityPolicies        *Table[*v1alpha1.SecurityPolicy]
	ClusterTrustBundles     *Table[*certificatesv1.ClusterTrustBundle]
	Definitions             *Table[*apiextensionsv1.CustomResourceDefinition]
	XBackendTrafficPolicies *Table[*gwxv1alpha1.XBackendTrafficPolicy]
	XBackends               *Table[*gwxv1alpha1.XBackend]
	TelemetryPolicies       *Table[*gwxv1alpha1.XTelemetryPolicy]
	InferencePools          *Table[*inferencev1.InferencePool]
	InferencePoolImports    *Table[*inferencexv1alpha1.InferencePoolImport]
	ServiceImports          *Table[*mcsv1beta1.ServiceImport]

	// GrantsByNamespace finds the ReferenceGrants of a namespace.
	GrantsByNamespace *Index[*gwv1.ReferenceGrant]
	// ListenerSetsByGateway finds the ListenerSets that name the Gateway `namespace/name` as their parent.
	ListenerSetsByGateway *Index[*gwv1.ListenerSet]
	// TLSPoliciesByService finds the BackendTLSPolicies that target the Service `namespace/name`, or the ServiceImport
	// `ServiceImport/namespace/name`, whichever of its ports.
	TLSPoliciesByService *Index[*gwv1.BackendTLSPolicy]
	// TrafficPoliciesByTarget finds the XBackendTrafficPolicies that target the Service `namespace/name`, or the XBackend or ServiceImport
	// `<kind>/namespace/name`.
	TrafficPoliciesByTarget *Index[*gwxv1alpha1.XBackendTrafficPolicy]
	// TelemetryPoliciesByGateway finds the XTelemetryPolicies that target the Gateway `namespace/name`.
	TelemetryPoliciesByGateway *Index[*gwxv1alpha1.XTelemetryPolicy]
	// ServicesByXBackend finds the Services that are owned by the XBackend `namespace/name`, whichever of that name.
	ServicesByXBackend *Index[*corev1.Service]
	// ServicesByInferencePool finds the Services that are owned by the InferencePool `namespace/name`, whichever of that name.
	ServicesByInferencePool *Index[*corev1.Service]
	// AllNodes finds every Node, under the empty key.
	AllNodes *Index[*corev1.Node]
	// SlicesByService finds the EndpointSlices of the Service `namespace/name`.
	SlicesByService *Index[*discoveryv1.EndpointSlice]
	// SlicesByServiceImport finds the EndpointSlices of the ServiceImport `namespace/name`, of all clusters.
	SlicesByServiceImport *Index[*discoveryv1.EndpointSlice]
}

// The API groups of the watched kinds.
var (
	gatewayAPI   = group{gwv1.GroupName, gwv1.Install}
	experiments  = group{gwxv1alpha1.GroupName, gwxv1alpha1.Install}
	inference    = group{inferencev1.GroupName, inferencev1.Install}
	inferencex   = group{inferencexv1alpha1.GroupName, inferencexv1alpha1.Install}
	multicluster = group{mcsv1beta1.GroupName, mcsv1beta1.Install}
	own          = group{v1alpha1.GroupName, v1alpha1.AddToScheme}
	core         = group{corev1.GroupName, corev1.AddToScheme}
	apps         = group{appsv1.GroupName, appsv1.AddToScheme}
	certificates = group{certificatesv1.GroupName, certificatesv1.AddToScheme}
	discovery    = group{discoveryv1.GroupName, discoveryv1.AddToScheme}
	definitions  = group{apiextensionsv1.GroupName, apiextensionsv1.AddToScheme}
)

// What is left of an object that cannot be read, so that it keeps its requests and reports it.
var (
	routeParts        = []string{"parentRefs", "useDefaultGateways", "hostnames"}
	listenerSetParts  = []string{"parentRef", "listeners[].name", "listeners[].hostname", "listeners[].port", "listeners[].protocol"}
	requestRouteParts = []string{
		"parentRefs", "useDefaultGateways", "hostnames", "rules[].matches", "rules[].filters[].type", "rules[].filters[].extensionRef",
	}
)

// Kinds describes every kind that is watched. A new leader writes statuses in this order: the few objects that many wait for come first.
var Kinds = []*Descriptor{
	describe(gatewayAPI, Descriptor{
		Kind: GatewayClass, Resource: "gatewayclasses", Versions: []string{"v1"}, Served: ByDefinition, Required: true, ClusterScoped: true,
	}, typed[*gwv1.GatewayClass]{
		table:  func(o *Objects) **Table[*gwv1.GatewayClass] { return &o.GatewayClasses },
		status: func(o *gwv1.GatewayClass) any { return &o.Status },
	}),
	describe(gatewayAPI, Descriptor{
		Kind: Gateway, Resource: "gateways", Versions: []string{"v1"}, Served: ByDefinition, Required: true,
	}, typed[*gwv1.Gateway]{
		table:  func(o *Objects) **Table[*gwv1.Gateway] { return &o.Gateways },
		status: func(o *gwv1.Gateway) any { return &o.Status },
	}),
	describe(gatewayAPI, Descriptor{
		Kind: ListenerSet, Resource: "listenersets", Versions: []string{"v1"}, Served: ByDefinition,
		PassUnreadable: true, KeptUnreadable: listenerSetParts,
	}, typed[*gwv1.ListenerSet]{
		table: func(o *Objects) **Table[*gwv1.ListenerSet] { return &o.ListenerSets },
		indexes: func(o *Objects) {
			o.ListenerSetsByGateway = NewIndex(o.ListenerSets, "ListenerSet.byGateway", listenerSetGateway)
		},
		status: func(o *gwv1.ListenerSet) any { return &o.Status },
	}),
	describe(gatewayAPI, Descriptor{
		Kind: HTTPRoute, Resource: "httproutes", Versions: []string{"v1"}, Served: ByDefinition,
		PassUnreadable: true, KeptUnreadable: requestRouteParts,
	}, typed[*gwv1.HTTPRoute]{
		table:  func(o *Objects) **Table[*gwv1.HTTPRoute] { return &o.HTTPRoutes },
		status: func(o *gwv1.HTTPRoute) any { return &o.Status.RouteStatus },
	}),
	describe(gatewayAPI, Descriptor{
		Kind: GRPCRoute, Resource: "grpcroutes", Versions: []string{"v1"}, Served: ByDefinition,
		PassUnreadable: true, KeptUnreadable: requestRouteParts,
	}, typed[*gwv1.GRPCRoute]{
		table:  func(o *Objects) **Table[*gwv1.GRPCRoute] { return &o.GRPCRoutes },
		status: func(o *gwv1.GRPCRoute) any { return &o.Status.RouteStatus },
	}),
	describe(gatewayAPI, Descriptor{
		Kind: TLSRoute, Resource: "tlsroutes", Versions: []string{"v1", "v1alpha3", "v1alpha2"}, Served: ByDefinition,
		PassUnreadable: true, KeptUnreadable: routeParts,
	}, typed[*gwv1.TLSRoute]{
		table:  func(o *Objects) **Table[*gwv1.TLSRoute] { return &o.TLSRoutes },
		status: func(o *gwv1.TLSRoute) any { return &o.Status.RouteStatus },
	}),
	describe(gatewayAPI, Descriptor{
		Kind: TCPRoute, Resource: "tcproutes", Versions: []string{"v1", "v1alpha2"}, Served: ByDefinition,
		PassUnreadable: true, KeptUnreadable: routeParts,
	}, typed[*gwv1.TCPRoute]{
		table:  func(o *Objects) **Table[*gwv1.TCPRoute] { return &o.TCPRoutes },
		status: func(o *gwv1.TCPRoute) any { return &o.Status.RouteStatus },
	}),
	describe(gatewayAPI, Descriptor{
		Kind: UDPRoute, Resource: "udproutes", Versions: []string{"v1", "v1alpha2"}, Served: ByDefinition,
		PassUnreadable: true, KeptUnreadable: routeParts,
	}, typed[*gwv1.UDPRoute]{
		table:  func(o *Objects) **Table[*gwv1.UDPRoute] { return &o.UDPRoutes },
		status: func(o *gwv1.UDPRoute) any { return &o.Status.RouteStatus },
	}),
	describe(gatewayAPI, Descriptor{
		Kind: BackendTLSPolicy, Resource: "backendtlspolicies", Versions: []string{"v1", "v1alpha3"}, Served: ByDefinition,
		PassUnreadable: true, KeptUnreadable: []string{"targetRefs"},
	}, typed[*gwv1.BackendTLSPolicy]{
		table: func(o *Objects) **Table[*gwv1.BackendTLSPolicy] { return &o.BackendTLSPolicies },
		indexes: func(o *Objects) {
			o.TLSPoliciesByService = NewIndex(o.BackendTLSPolicies, "BackendTLSPolicy.byService", tlsPolicyServices)
		},
		status: func(o *gwv1.BackendTLSPolicy) any { return &o.Status },
	}),
	describe(gatewayAPI, Descriptor{
		Kind: ReferenceGrant, Resource: "referencegrants", Versions: []string{"v1", "v1beta1"}, Served: ByDefinition,
	}, typed[*gwv1.ReferenceGrant]{
		table: func(o *Objects) **Table[*gwv1.ReferenceGrant] { return &o.ReferenceGrants },
		indexes: func(o *Objects) {
			o.GrantsByNamespace = NewIndex(o.ReferenceGrants, "ReferenceGrant.byNamespace", grantNamespace)
		},
	}),
	describe(experiments, Descriptor{
		Kind: XBackendTrafficPolicy, Resource: "xbackendtrafficpolicies", Versions: []string{"v1alpha1"},
		Served: ByDefinition, Experimental: true,
	}, typed[*gwxv1alpha1.XBackendTrafficPolicy]{
		table: func(o *Objects) **Table[*gwxv1alpha1.XBackendTrafficPolicy] { return &o.XBackendTrafficPolicies },
		indexes: func(o *Objects) {
			o.TrafficPoliciesByTarget = NewIndex(o.XBackendTrafficPolicies, "XBackendTrafficPolicy.byTarget", trafficPolicyTargets)
		},
		status: func(o *gwxv1alpha1.XBackendTrafficPolicy) any { return &o.Status },
	}),
	describe(experiments, Descriptor{
		Kind: XBackend, Resource: "xbackends", Versions: []string{"v1alpha1"},
		Served: ByDefinition, Experimental: true,
	}, typed[*gwxv1alpha1.XBackend]{
		table:  func(o *Objects) **Table[*gwxv1alpha1.XBackend] { return &o.XBackends },
		status: func(o *gwxv1alpha1.XBackend) any { return &o.Status },
	}),
	describe(experiments, Descriptor{
		Kind: XTelemetryPolicy, Resource: "xtelemetrypolicies", Versions: []string{"v1alpha1"},
		Served: ByDefinition, Experimental: true,
	}, typed[*gwxv1alpha1.XTelemetryPolicy]{
		table: func(o *Objects) **Table[*gwxv1alpha1.XTelemetryPolicy] { return &o.TelemetryPolicies },
		indexes: func(o *Objects) {
			o.TelemetryPoliciesByGateway = NewIndex(o.TelemetryPolicies, "XTelemetryPolicy.byGateway", telemetryPolicyGateways)
		},
		status: func(o *gwxv1alpha1.XTelemetryPolicy) any { return (*gwv1.PolicyStatus)(&o.Status) },
	}),
	describe(inference, Descriptor{
		Kind: InferencePool, Resource: "inferencepools", Versions: []string{"v1"}, Served: ByDefinition,
	}, typed[*inferencev1.InferencePool]{
		table:  func(o *Objects) **Table[*inferencev1.InferencePool] { return &o.InferencePools },
		status: func(o *inferencev1.InferencePool) any { return &o.Status },
	}),
	describe(inferencex, Descriptor{
		Kind: InferencePoolImport, Resource: "inferencepoolimports", Versions: []string{"v1alpha1"}, Served: ByDefinition, Experimental: true,
	}, typed[*inferencexv1alpha1.InferencePoolImport]{
		table:  func(o *Objects) **Table[*inferencexv1alpha1.InferencePoolImport] { return &o.InferencePoolImports },
		status: func(o *inferencexv1alpha1.InferencePoolImport) any { return &o.Status },
	}),
	describe(multicluster, Descriptor{
		Kind: ServiceImport, Resource: "serviceimports", Versions: []string{"v1beta1", "v1alpha1"}, Served: ByDefinition,
	}, typed[*mcsv1beta1.ServiceImport]{
		table: func(o *Objects) **Table[*mcsv1beta1.ServiceImport] { return &o.ServiceImports },
	}),
	describe(own, Descriptor{
		Kind: ClientTrafficPolicy, Resource: "clienttrafficpolicies", Versions: []string{"v1alpha1"}, Served: ByDefinition,
		Check: limits.CheckQuantities, MarkUnknown: true,
	}, typed[*v1alpha1.ClientTrafficPolicy]{
		table:  func(o *Objects) **Table[*v1alpha1.ClientTrafficPolicy] { return &o.ClientTrafficPolicies },
		status: func(o *v1alpha1.ClientTrafficPolicy) any { return &o.Status },
	}),
	describe(own, Descriptor{
		Kind: HTTPRouteFilter, Resource: "httproutefilters", Versions: []string{"v1alpha1"}, Served: ByDefinition,
		MarkUnknown: true,
	}, typed[*v1alpha1.HTTPRouteFilter]{
		table: func(o *Objects) **Table[*v1alpha1.HTTPRouteFilter] { return &o.HTTPRouteFilters },
	}),
	describe(own, Descriptor{
		Kind: Backend, Resource: "backends", Versions: []string{"v1alpha1"}, Served: ByDefinition,
		MarkUnknown: true,
	}, typed[*v1alpha1.Backend]{
		table:  func(o *Objects) **Table[*v1alpha1.Backend] { return &o.Backends },
		status: func(o *v1alpha1.Backend) any { return &o.Status },
	}),
	describe(own, Descriptor{
		Kind: Extension, Resource: "extensions", Versions: []string{"v1alpha1"}, Served: ByDefinition,
		MarkUnknown: true,
	}, typed[*v1alpha1.Extension]{
		table: func(o *Objects) **Table[*v1alpha1.Extension] { return &o.Extensions },
	}),
	describe(own, Descriptor{
		Kind: BackendTrafficPolicy, Resource: "backendtrafficpolicies", Versions: []string{"v1alpha1"}, Served: ByDefinition,
		Check: limits.CheckQuantities, MarkUnknown: true,
	}, typed[*v1alpha1.BackendTrafficPolicy]{
		table:  func(o *Objects) **Table[*v1alpha1.BackendTrafficPolicy] { return &o.BackendTrafficPolicies },
		status: func(o *v1alpha1.BackendTrafficPolicy) any { return &o.Status },
	}),
	describe(own, Descriptor{
		Kind: SecurityPolicy, Resource: "securitypolicies", Versions: []string{"v1alpha1"}, Served: ByDefinition,
		// What protects something closes its targets, as long as they are known.
		MarkUnknown: true, PassUnreadable: true, KeptUnreadable: []string{"targetRef", "targetRefs", "targetSelectors", "strategy"},
	}, typed[*v1alpha1.SecurityPolicy]{
		table:  func(o *Objects) **Table[*v1alpha1.SecurityPolicy] { return &o.SecurityPolicies },
		status: func(o *v1alpha1.SecurityPolicy) any { return &o.Status },
	}),
	describe(own, Descriptor{
		Kind: ProxyConfig, Resource: "proxyconfigs", Versions: []string{"v1alpha1"}, Served: ByDefinition,
		Check: limits.CheckQuantities, PassUnreadable: true,
	}, typed[*v1alpha1.ProxyConfig]{
		table: func(o *Objects) **Table[*v1alpha1.ProxyConfig] { return &o.ProxyConfigs },
	}),
	describe(core, Descriptor{
		Kind: Namespace, Resource: "namespaces", Versions: []string{"v1"}, ClusterScoped: true,
	}, typed[*corev1.Namespace]{
		table:   func(o *Objects) **Table[*corev1.Namespace] { return &o.Namespaces },
		changed: changedNamespace,
		trim:    trimNamespace,
	}),
	describe(core, Descriptor{
		Kind: Service, Resource: "services", Versions: []string{"v1"}, Managed: true,
	}, typed[*corev1.Service]{
		table: func(o *Objects) **Table[*corev1.Service] { return &o.Services },
		indexes: func(o *Objects) {
			o.ServicesByXBackend = NewIndex(o.Services, "Service.byXBackend", ownedBy(gwxv1alpha1.GroupName, XBackend))
			o.ServicesByInferencePool = NewIndex(o.Services, "Service.byInferencePool", ownedBy(inferencev1.GroupName, InferencePool))
		},
		changed: changedService,
	}),
	describe(core, Descriptor{
		Kind: Secret, Resource: "secrets", Versions: []string{"v1"},
		Fields: fields.AndSelectors(withoutTypes(unusedSecrets)...),
	}, typed[*corev1.Secret]{
		table:   func(o *Objects) **Table[*corev1.Secret] { return &o.Secrets },
		changed: changedSecret,
		trim:    trimSecret,
	}),
	describe(core, Descriptor{
		Kind: ConfigMap, Resource: "configmaps", Versions: []string{"v1"}, Managed: true,
	}, typed[*corev1.ConfigMap]{
		table:   func(o *Objects) **Table[*corev1.ConfigMap] { return &o.ConfigMaps },
		changed: changedConfigMap,
		trim:    trimConfigMap,
	}),
	describe(certificates, Descriptor{
		Kind: ClusterTrustBundle, Resource: "clustertrustbundles", Versions: []string{"v1", "v1beta1"},
		Served: BySomeClusters, ClusterScoped: true,
	}, typed[*certificatesv1.ClusterTrustBundle]{
		table:   func(o *Objects) **Table[*certificatesv1.ClusterTrustBundle] { return &o.ClusterTrustBundles },
		changed: changedTrustBundle,
	}),
	describe(discovery, Descriptor{
		Kind: EndpointSlice, Resource: "endpointslices", Versions: []string{"v1"}, InSystem: true,
	}, typed[*discoveryv1.EndpointSlice]{
		table: func(o *Objects) **Table[*discoveryv1.EndpointSlice] { return &o.EndpointSlices },
		indexes: func(o *Objects) {
			o.SlicesByService = NewIndex(o.EndpointSlices, "EndpointSlice.byService", sliceService)
			o.SlicesByServiceImport = NewIndex(o.EndpointSlices, "EndpointSlice.byServiceImport", sliceImport)
		},
		changed: changedEndpointSlice,
		trim:    trimEndpointSlice,
	}),
	describe(core, Descriptor{
		Kind: Node, Resource: "nodes", Versions: []string{"v1"}, Served: OnDemand, NeededBy: needsNodes, ClusterScoped: true,
	}, typed[*corev1.Node]{
		table:   func(o *Objects) **Table[*corev1.Node] { return &o.Nodes },
		indexes: func(o *Objects) { o.AllNodes = NewIndex(o.Nodes, "Node.all", anyNode) },
		changed: changedNode,
		trim:    trimNode,
	}),
	describe(apps, Descriptor{
		Kind: Deployment, Resource: "deployments", Versions: []string{"v1"}, OnlyFleets: true, Managed: true,
	}, typed[*appsv1.Deployment]{
		table:   func(o *Objects) **Table[*appsv1.Deployment] { return &o.Deployments },
		changed: changedDeployment,
	}),
	describe(apps, Descriptor{
		Kind: DaemonSet, Resource: "daemonsets", Versions: []string{"v1"}, OnlyFleets: true, Managed: true,
	}, typed[*appsv1.DaemonSet]{
		table:   func(o *Objects) **Table[*appsv1.DaemonSet] { return &o.DaemonSets },
		changed: changedDaemonSet,
	}),
	describe(definitions, Descriptor{
		Kind: CustomResourceDefinition, Resource: "customresourcedefinitions", Versions: []string{"v1"}, ClusterScoped: true,
	}, typed[*apiextensionsv1.CustomResourceDefinition]{
		table:   func(o *Objects) **Table[*apiextensionsv1.CustomResourceDefinition] { return &o.Definitions },
		changed: changedDefinition,
		trim:    trimDefinition,
	}),
}
