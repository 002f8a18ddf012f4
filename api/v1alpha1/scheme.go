package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the group of Gatewright's kinds.
const GroupName = "gatewright.dev"

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// AddToScheme makes the kinds of this package known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ProxyConfig{}, &ProxyConfigList{},
		&ClientTrafficPolicy{}, &ClientTrafficPolicyList{},
		&HTTPRouteFilter{}, &HTTPRouteFilterList{},
		&Backend{}, &BackendList{},
		&Extension{}, &ExtensionList{},
		&BackendTrafficPolicy{}, &BackendTrafficPolicyList{},
		&SecurityPolicy{}, &SecurityPolicyList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
