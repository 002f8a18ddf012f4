package gateway

import (
	"cmp"
	"fmt"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// classParameters is the key of the ProxyConfig that a class names, empty for none, and what is wrong with the reference or with what it
// leads to.
func classParameters(v *store.View, objects *store.Objects, class *gwv1.GatewayClass) (key, problem string) {
	ref := class.Spec.ParametersRef
	switch {
	case ref == nil:
		return "", ""
	case ref.Group != v1alpha1.GroupName || ref.Kind != gwv1.Kind(store.ProxyConfig):
		return "", fmt.Sprintf("parametersRef names %s %s in group %q; only a ProxyConfig in group %q is served", ref.Kind, ref.Name, ref.Group, v1alpha1.GroupName)
	case ref.Namespace == nil:
		return "", fmt.Sprintf("parametersRef names ProxyConfig %s without its namespace; add it", ref.Name)
	}
	key = store.Key(string(*ref.Namespace), ref.Name)
	config, ok := objects.ProxyConfigs.Get(v, key)
	if !ok {
		return "", missingParameters(key)
	}
	if problem := unreadableParameters(config); problem != "" {
		return "", problem
	}
	_, problem = proxies(config.Spec)
	if problem != "" {
		problem = fmt.Sprintf("ProxyConfig %s: %s", key, problem)
	}
	return key, problem
}

func missingParameters(key string) string {
	return fmt.Sprintf("parametersRef names ProxyConfig %s, which does not exist; create it, and install the CRDs of Gatewright if they are missing", key)
}

// unreadableParameters says why a ProxyConfig can not be read, if that is so.
func unreadableParameters(config *v1alpha1.ProxyConfig) string {
	reason := store.Unreadable(config)
	if reason == "" {
		return ""
	}
	return fmt.Sprintf("parametersRef names ProxyConfig %s, which can not be read: %s; correct it", store.KeyOf(config), reason)
}

// settings is what is said about a fleet, and from which namespace the references in it lead.
type settings struct {
	spec                  v1alpha1.ProxyConfigSpec
	logsFrom, tracingFrom string
	// placement is what the class says, and unplaced that nobody knows what it says.
	placement v1alpha1.Placement
	unplaced  bool
}

// parameters is what a Gateway's own ProxyConfig and that of its class say together. Where there is a problem, it is what can be used.
func parameters(v *store.View, objects *store.Objects, gw *gwv1.Gateway, class ResolvedClass) (settings, string) {
	s := settings{unplaced: class.Problem != "" && class.Parameters == ""}
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
		return s, fmt.Sprintf("infrastructure.parametersRef names %s %s in group %q; only a ProxyConfig in group %q is served", ref.Kind, ref.Name, ref.Group, v1alpha1.GroupName)
	}
	key := store.Key(gw.Namespace, ref.Name)
	own, ok := objects.ProxyConfigs.Get(v, key)
	if !ok {
		return s, "infrastructure." + missingParameters(key)
	}
	if problem := unreadableParameters(own); problem != "" {
		return s, "infrastructure." + problem
	}
	usable := own.Spec
	if s.placement == v1alpha1.PlacementShared {
		usable.AccessLogs = withoutText(usable.AccessLogs)
	}
	merged, err := mergeParameters(s.spec, usable)
	if err != nil {
		return s, fmt.Sprintf("ProxyConfig %s: %v", key, err)
	}
	if problem == "" {
		problem = cmp.Or(foreignChoice(own.Spec, s, class, key), conflictingParameters(merged, key, class.Parameters))
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

// conflictingParameters finds what each ProxyConfig may say and both together may not.
func conflictingParameters(merged v1alpha1.ProxyConfigSpec, own, class string) string {
	if merged.Workload == nil || *merged.Workload != v1alpha1.DaemonSetWorkload {
		return ""
	}
	if merged.Replicas == nil && merged.Autoscaling == nil && merged.DisruptionBudget == nil {
		return ""
	}
	return fmt.Sprintf("ProxyConfig %s has replicas, autoscaling or disruptionBudget, and ProxyConfig %s of the class has workload DaemonSet, with one proxy on each node; "+
		"add workload Deployment to the first, or leave them out", own, class)
}
