package store

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// Custom is a kind that exists only where its CustomResourceDefinition is installed.
type Custom struct {
	Kind     Kind
	Group    string
	Resource string
	// Versions are those that can be read, best first. They are written alike, field by field.
	Versions []string
	// Experimental says that only the experimental channel has the kind.
	Experimental bool
	// Required says that nothing at all can be served without the kind.
	Required bool
}

// Customs are the watched kinds that a definition brings.
var Customs = []Custom{
	{Kind: GatewayClass, Group: gwv1.GroupName, Resource: "gatewayclasses", Versions: []string{"v1"}, Required: true},
	{Kind: Gateway, Group: gwv1.GroupName, Resource: "gateways", Versions: []string{"v1"}, Required: true},
	{Kind: ListenerSet, Group: gwv1.GroupName, Resource: "listenersets", Versions: []string{"v1"}},
	{Kind: HTTPRoute, Group: gwv1.GroupName, Resource: "httproutes", Versions: []string{"v1"}},
	{Kind: GRPCRoute, Group: gwv1.GroupName, Resource: "grpcroutes", Versions: []string{"v1"}},
	{Kind: TLSRoute, Group: gwv1.GroupName, Resource: "tlsroutes", Versions: []string{"v1", "v1alpha3", "v1alpha2"}},
	{Kind: TCPRoute, Group: gwv1.GroupName, Resource: "tcproutes", Versions: []string{"v1", "v1alpha2"}},
	{Kind: UDPRoute, Group: gwv1.GroupName, Resource: "udproutes", Versions: []string{"v1", "v1alpha2"}},
	{Kind: BackendTLSPolicy, Group: gwv1.GroupName, Resource: "backendtlspolicies", Versions: []string{"v1", "v1alpha3"}},
	{Kind: ReferenceGrant, Group: gwv1.GroupName, Resource: "referencegrants", Versions: []string{"v1", "v1beta1"}},
	{
		Kind: XBackendTrafficPolicy, Group: gwxv1alpha1.GroupName, Resource: "xbackendtrafficpolicies", Versions: []string{"v1alpha1"},
		Experimental: true,
	},
	{Kind: XBackend, Group: gwxv1alpha1.GroupName, Resource: "xbackends", Versions: []string{"v1alpha1"}, Experimental: true},
	{Kind: XTelemetryPolicy, Group: gwxv1alpha1.GroupName, Resource: "xtelemetrypolicies", Versions: []string{"v1alpha1"}, Experimental: true},
	{Kind: ProxyConfig, Group: v1alpha1.GroupName, Resource: "proxyconfigs", Versions: []string{"v1alpha1"}},
}

// CustomOf finds the description of a kind, if a definition brings it.
func CustomOf(kind Kind) (Custom, bool) {
	i := slices.IndexFunc(Customs, func(c Custom) bool { return c.Kind == kind })
	if i < 0 {
		return Custom{}, false
	}
	return Customs[i], true
}

// OfGatewayAPI says whether the standard has the kind, and not Gatewright alone.
func (c Custom) OfGatewayAPI() bool { return c.Group != v1alpha1.GroupName }

// Definition is the name of the CustomResourceDefinition that brings the kind.
func (c Custom) Definition() string { return c.Resource + "." + c.Group }

// ServedVersion is the version in which the kind can be read, and empty when the definition serves none that can.
func (c Custom) ServedVersion(definition *apiextensionsv1.CustomResourceDefinition) string {
	if definition == nil || !established(definition) {
		return ""
	}
	for _, version := range c.Versions {
		if slices.ContainsFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version && v.Served
		}) {
			return version
		}
	}
	return ""
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}
