package class

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/resolve/proxyconfig"
	"github.com/gatewright/gatewright/internal/store"
)

// parameters returns the key of the ProxyConfig that a class names, empty for none, and what is wrong with the reference or the
// ProxyConfig.
func parameters(v *store.View, objects *store.Objects, class *gwv1.GatewayClass) (key, problem string) {
	ref := class.Spec.ParametersRef
	switch {
	case ref == nil:
		return "", ""
	case ref.Group != v1alpha1.GroupName || ref.Kind != gwv1.Kind(store.ProxyConfig):
		return "", fmt.Sprintf("parametersRef names %s %s in group %q; only a ProxyConfig in group %q is served",
			ref.Kind, ref.Name, ref.Group, v1alpha1.GroupName)
	case ref.Namespace == nil:
		return "", fmt.Sprintf("parametersRef names ProxyConfig %s without its namespace; add it", ref.Name)
	}
	key = store.Key(string(*ref.Namespace), ref.Name)
	config, ok := objects.ProxyConfigs.Get(v, key)
	if !ok {
		return "", proxyconfig.Missing(key)
	}
	if problem := proxyconfig.Unreadable(config); problem != "" {
		return "", problem
	}
	_, problem = proxyconfig.Proxies(config.Spec)
	if problem != "" {
		problem = fmt.Sprintf("ProxyConfig %s: %s", key, problem)
	}
	return key, problem
}
