package fleet

import (
	"cmp"
	"fmt"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/proxyconfig"
	"github.com/gatewright/gatewright/internal/store"
)

// settings are the merged parameters of a fleet, and the namespaces from which their references lead.
type settings struct {
	spec                  v1alpha1.ProxyConfigSpec
	logsFrom, tracingFrom string
	// placement is that of the class; placementUnknown is set if the ProxyConfig of the class cannot be read.
	placement        v1alpha1.Placement
	placementUnknown bool
}

// parameters merges a Gateway's own ProxyConfig over that of its class. If there is a problem, it returns the usable part.
func parameters(v *store.View, objects *store.Objects, gw *gwv1.Gateway, class class.Resolved) (settings, string) {
	s := settings{placementUnknown: class.Problem != "" && class.Parameters == ""}
	if config, ok := objects.ProxyConfigs.Get(v, class.Parameters); ok {
		s = settings{spec: config.Spec, logsFrom: config.Namespace, tracingFrom: config.Namespace}
		s.placement = ptr.Deref(config.Spec.Placement, "")
	}
	problem := ""
	if class.Problem != "" {
		problem = fmt.Sprintf("GatewayClass %s: %s", gw.Spec.GatewayClassName, class.Problem)
	}
	if gw.Spec.Infrastructure == nil || gw.Spec.Infrastructure.ParametersRef == nil {
		return s, problem
	}
	ref := gw.Spec.Infrastructure.ParametersRef
	if ref.Group != v1alpha1.GroupName || ref.Kind != gwv1.Kind(store.ProxyConfig) {
		return s, fmt.Sprintf("infrastructure.parametersRef names %s %s in group %q; only a ProxyConfig in group %q is served",
			ref.Kind, ref.Name, ref.Group, v1alpha1.GroupName)
	}
	key := store.Key(gw.Namespace, ref.Name)
	own, ok := objects.ProxyConfigs.Get(v, key)
	if !ok {
		return s, "infrastructure." + proxyconfig.Missing(key)
	}
	if problem := proxyconfig.Unreadable(own); problem != "" {
		return s, "infrastructure." + problem
	}
	usable := own.Spec
	if s.placement == v1alpha1.PlacementShared {
		usable.AccessLogs = withoutText(usable.AccessLogs)
	}
	merged, err := proxyconfig.Merge(s.spec, usable)
	if err != nil {
		return s, fmt.Sprintf("ProxyConfig %s: %v", key, err)
	}
	if problem == "" {
		problem = cmp.Or(classOnlyChoice(own.Spec, s, class, key), conflictingParameters(merged, key, class.Parameters))
	}
	s.spec = merged
	if usable.AccessLogs != nil {
		s.logsFrom = own.Namespace
	}
	if own.Spec.Tracing != nil {
		s.tracingFrom = own.Namespace
	}
	return s, problem
}

// conflictingParameters finds settings that each ProxyConfig may have alone, but that exclude each other when merged.
func conflictingParameters(merged v1alpha1.ProxyConfigSpec, own, class string) string {
	if merged.Workload == nil || *merged.Workload != v1alpha1.DaemonSetWorkload {
		return ""
	}
	if merged.Replicas == nil && merged.Autoscaling == nil && merged.DisruptionBudget == nil {
		return ""
	}
	return fmt.Sprintf("ProxyConfig %s has replicas, autoscaling or disruptionBudget, and ProxyConfig %s of the class has workload "+
		"DaemonSet, "+
		"with one proxy on each node; add workload Deployment to the first, or leave them out", own, class)
}
