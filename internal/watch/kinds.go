package watch

import (
	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// Kind is one watched kind.
type Kind struct {
	Name store.Kind
	// Object is an empty object of the kind.
	Object client.Object
	// Changed says whether an update changed anything that is read.
	Changed func(before, after client.Object) bool
	// ReportsStatus says that updates which changed nothing else are reported too, because we write this kind's status.
	ReportsStatus bool
	// Optional describes a kind of Kubernetes itself that a cluster may not serve, and is nil for the others.
	Optional *store.Custom
	// OnDemand says that a kind is watched from the first change on that needs it. It has an Optional, and the cluster always serves it.
	OnDemand func(store.Change) bool
	// Cache says which objects are cached and what is trimmed from them, where it differs from the default. A kind that the cluster may
	// not serve can have none: a cache asks the cluster about each when it is made.
	Cache *cache.ByObject
}

// ours selects the workloads that are Gatewright's.
var ours = labels.SelectorFromSet(labels.Set{"app.kubernetes.io/managed-by": "gatewright"})

// Kinds is every kind that is watched.
var Kinds = []Kind{
	{Name: store.GatewayClass, Object: &gwv1.GatewayClass{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.Gateway, Object: &gwv1.Gateway{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.ListenerSet, Object: &gwv1.ListenerSet{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.HTTPRoute, Object: &gwv1.HTTPRoute{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.GRPCRoute, Object: &gwv1.GRPCRoute{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.TLSRoute, Object: &gwv1.TLSRoute{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.TCPRoute, Object: &gwv1.TCPRoute{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.UDPRoute, Object: &gwv1.UDPRoute{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.BackendTLSPolicy, Object: &gwv1.BackendTLSPolicy{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.XBackendTrafficPolicy, Object: &gwxv1alpha1.XBackendTrafficPolicy{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.XBackend, Object: &gwxv1alpha1.XBackend{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.XTelemetryPolicy, Object: &gwxv1alpha1.XTelemetryPolicy{}, Changed: changedGeneration, ReportsStatus: true},
	{Name: store.ReferenceGrant, Object: &gwv1.ReferenceGrant{}, Changed: changedGeneration},
	{Name: store.ProxyConfig, Object: &v1alpha1.ProxyConfig{}, Changed: changedGeneration},
	{
		Name: store.Namespace, Object: &corev1.Namespace{}, Changed: typed(changedNamespace),
		Cache: &cache.ByObject{Transform: trimming(trimNamespace)},
	},
	{Name: store.Service, Object: &corev1.Service{}, Changed: typed(changedService)},
	{
		Name: store.Secret, Object: &corev1.Secret{}, Changed: typed(changedSecret),
		Cache: &cache.ByObject{
			Field:     fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS)),
			Transform: trimming(trimSecret),
		},
	},
	{
		Name: store.ConfigMap, Object: &corev1.ConfigMap{}, Changed: typed(changedConfigMap),
		Cache: &cache.ByObject{Transform: trimming(trimConfigMap)},
	},
	{
		Name: store.ClusterTrustBundle, Object: &certificatesv1.ClusterTrustBundle{}, Changed: typed(changedTrustBundle),
		Optional: &store.Custom{
			Kind: store.ClusterTrustBundle, Group: certificatesv1.GroupName, Resource: "clustertrustbundles", Versions: []string{"v1", "v1beta1"},
		},
	},
	{
		Name: store.EndpointSlice, Object: &discoveryv1.EndpointSlice{}, Changed: typed(changedEndpointSlice),
		Cache: &cache.ByObject{Transform: trimming(trimEndpointSlice)},
	},
	{
		Name: store.Node, Object: &corev1.Node{}, Changed: typed(changedNode), OnDemand: needsNodes,
		Optional: &store.Custom{Kind: store.Node, Resource: "nodes", Versions: []string{"v1"}},
		Cache:    &cache.ByObject{Transform: trimming(trimNode)},
	},
	{
		Name: store.Deployment, Object: &appsv1.Deployment{}, Changed: typed(changedDeployment),
		Cache: &cache.ByObject{Label: ours},
	},
	{
		Name: store.DaemonSet, Object: &appsv1.DaemonSet{}, Changed: typed(changedDaemonSet),
		Cache: &cache.ByObject{Label: ours},
	},
	{
		Name: store.CustomResourceDefinition, Object: &apiextensionsv1.CustomResourceDefinition{}, Changed: typed(changedDefinition),
		Cache: &cache.ByObject{Transform: trimming(trimDefinition)},
	},
}

// Scope is where objects are watched.
type Scope struct {
	// Namespaces are those that are watched, none for all.
	Namespaces []string
	// System is the namespace that Gatewright runs in. Its EndpointSlices are watched in any case.
	System string
	// Fleets chooses the objects of fleets, nil for those of every installation.
	Fleets labels.Selector
}

// CacheOptions makes a cache hold no more than is read: of Secrets the TLS ones, of Deployments and DaemonSets our own, and of any object
// not the fields that only its writer needs. An object it leaves out must be read without the cache.
func CacheOptions(scope Scope) cache.Options {
	options := cache.Options{
		DefaultTransform: trimming(trimNothing),
		ByObject:         map[client.Object]cache.ByObject{},
		// Nobody but a Watcher decides what is watched.
		ReaderFailOnMissingInformer: true,
	}
	for _, kind := range Kinds {
		if kind.Cache != nil {
			options.ByObject[kind.Object] = *kind.Cache
		}
	}
	for object, by := range options.ByObject {
		if by.Label != nil && scope.Fleets != nil {
			by.Label = scope.Fleets
			options.ByObject[object] = by
		}
	}
	if len(scope.Namespaces) == 0 {
		return options
	}
	options.DefaultNamespaces = namespaces(scope.Namespaces...)
	for object, by := range options.ByObject {
		if _, ok := object.(*discoveryv1.EndpointSlice); ok {
			by.Namespaces = namespaces(append([]string{scope.System}, scope.Namespaces...)...)
			options.ByObject[object] = by
		}
	}
	return options
}

func namespaces(names ...string) map[string]cache.Config {
	configs := map[string]cache.Config{}
	for _, name := range names {
		configs[name] = cache.Config{}
	}
	return configs
}
