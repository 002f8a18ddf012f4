package watch

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

// ofGatewayAPI says whether a definition belongs to the Gateway API: to its own group, or to the one of its experiments.
func ofGatewayAPI(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return definition.Spec.Group == gwv1.GroupName || definition.Spec.Group == gwxv1alpha1.GroupName
}
