package proxyconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
)

// Proxies returns how a fleet runs, and what is wrong with the spec beyond what the API server rejects.
func Proxies(spec v1alpha1.ProxyConfigSpec) (ir.Proxies, string) {
	p := ir.Proxies{
		DaemonSet:   spec.Workload != nil && *spec.Workload == v1alpha1.DaemonSetWorkload,
		Replicas:    spec.Replicas,
		Concurrency: spec.Concurrency,
	}
	if a := spec.Autoscaling; a != nil {
		p.Autoscaling = &ir.Autoscaling{Min: a.MinReplicas, Max: a.MaxReplicas, Metrics: list(a.Metrics), Behavior: rawJSON(a.Behavior)}
	}
	if d := spec.DisruptionBudget; d != nil {
		p.Disruption = &ir.Disruption{}
		if d.MinAvailable != nil {
			p.Disruption.MinAvailable = d.MinAvailable.String()
		}
		if d.MaxUnavailable != nil {
			p.Disruption.MaxUnavailable = d.MaxUnavailable.String()
		}
	}
	if spec.Limits != nil {
		p.Connections = spec.Limits.Connections
	}
	if m := spec.Metrics; m != nil {
		p.Metrics = ir.Metrics{
			Hidden:   ptr.Deref(m.Prometheus, "") == v1alpha1.MetricsDisabled,
			Backends: ptr.Deref(m.Backends, "") == v1alpha1.MetricsEnabled,
		}
	}
	if s := spec.Service; s != nil {
		p.Service = fleetService(s)
	}
	if g := spec.GeoIP; g != nil && g.MaxMind != nil {
		p.GeoIP = databases(g.MaxMind)
	}
	problem := pod(&p.Pod, spec.Pod)
	if problem == "" {
		problem = hostPorts(&p, ptr.Deref(spec.Placement, ""))
	}
	if problem == "" {
		problem = drain(&p.Drain, spec.Drain)
	}
	if spec.Patches != nil && problem == "" {
		problem = patches(&p, *spec.Patches)
	}
	return p, problem
}

func databases(m *v1alpha1.MaxMind) ir.GeoDatabases {
	return ir.GeoDatabases{
		City: string(ptr.Deref(m.CityDBPath, "")), Country: string(ptr.Deref(m.CountryDBPath, "")), ASN: string(ptr.Deref(m.ASNDBPath, "")),
		ISP: string(ptr.Deref(m.ISPDBPath, "")), AnonymousIP: string(ptr.Deref(m.AnonymousIPDBPath, "")),
	}
}

func fleetService(s *v1alpha1.Service) ir.Service {
	service := ir.Service{
		Type:              string(ptr.Deref(s.Type, "")),
		Annotations:       plain(s.Annotations),
		LoadBalancerClass: ptr.Deref(s.LoadBalancerClass, ""),
		SourceRanges:      s.LoadBalancerSourceRanges,
		ExternalPolicy:    string(ptr.Deref(s.ExternalTrafficPolicy, "")),
		InternalPolicy:    string(ptr.Deref(s.InternalTrafficPolicy, "")),
		FamilyPolicy:      string(ptr.Deref(s.IPFamilyPolicy, "")),
	}
	for _, family := range s.IPFamilies {
		service.Families = append(service.Families, string(family))
	}
	for _, port := range s.NodePorts {
		if service.NodePorts == nil {
			service.NodePorts = map[string]int32{}
		}
		id := ir.Port{Number: port.Port}
		if port.Protocol == corev1.ProtocolUDP {
			id.Protocol = ir.UDP
		}
		service.NodePorts[id.ID()] = port.NodePort
	}
	return service
}

func pod(p *ir.Pod, spec *v1alpha1.Pod) string {
	if spec == nil {
		return ""
	}
	*p = ir.Pod{
		Image:         ptr.Deref(spec.Image, ""),
		Labels:        plain(spec.Labels),
		Annotations:   plain(spec.Annotations),
		NodeSelector:  plain(spec.NodeSelector),
		Affinity:      rawJSON(spec.Affinity),
		Tolerations:   list(spec.Tolerations),
		PriorityClass: ptr.Deref(spec.PriorityClassName, ""),
		HostPorts:     ptr.Deref(spec.HostPorts, "") == v1alpha1.PodHostPortsEnabled,
		AssignedUser:  ptr.Deref(spec.User, "") == v1alpha1.PodUserAssigned,
	}
	if spec.TopologySpreadConstraints != nil {
		p.Spread = rawJSON(&spec.TopologySpreadConstraints)
	}
	for _, secret := range spec.ImagePullSecrets {
		p.PullSecrets = append(p.PullSecrets, secret.Name)
	}
	return resources(p, spec.Resources)
}

func resources(p *ir.Pod, spec *v1alpha1.Resources) string {
	if spec == nil {
		return ""
	}
	p.Resources = &ir.Resources{
		Requests: quantities(spec.Requests), Limits: quantities(spec.Limits), MemoryLimit: spec.Limits.Memory().Value(),
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Limits)) {
		limit, request := spec.Limits[name], spec.Requests[name]
		if request.Cmp(limit) > 0 {
			return fmt.Sprintf("pod.resources requests %s of %s and limits it to %s; raise the limit, or lower the request",
				request.String(), name, limit.String())
		}
	}
	return ""
}

func quantities(list corev1.ResourceList) map[string]string {
	var all map[string]string
	for name, quantity := range list {
		if all == nil {
			all = map[string]string{}
		}
		all[string(name)] = quantity.String()
	}
	return all
}

func drain(d *ir.Drain, spec *v1alpha1.Drain) string {
	if spec == nil {
		return ""
	}
	for _, field := range []struct {
		name string
		from *gwv1.Duration
		to   **time.Duration
	}{{"delay", spec.Delay, &d.Delay}, {"timeout", spec.Timeout, &d.Timeout}} {
		if field.from == nil {
			continue
		}
		parsed, err := time.ParseDuration(string(*field.from))
		if err != nil {
			return fmt.Sprintf("drain.%s: %q is not a duration; write it as 30s or 1m30s", field.name, *field.from)
		}
		*field.to = &parsed
	}
	return ""
}

// patches takes over those that are for what the fleet consists of. The API server has seen that they are objects; what they may not do is
// found when they are applied.
func patches(p *ir.Proxies, spec v1alpha1.Patches) string {
	workload, other, kind := spec.Deployment, spec.DaemonSet, v1alpha1.DaemonSetWorkload
	if p.DaemonSet {
		workload, other, kind = spec.DaemonSet, spec.Deployment, v1alpha1.DeploymentWorkload
	}
	if other != nil {
		return fmt.Sprintf("there is a patch for a %s, which does not run the proxies; remove it, or change workload", kind)
	}
	p.Patches = ir.Patches{Workload: raw(workload), Service: raw(spec.Service)}
	return ""
}

// raw is a patch, with the same bytes however it was written.
func raw(patch *runtime.RawExtension) ir.RawJSON {
	if patch == nil {
		return ""
	}
	var fields map[string]any
	if err := json.Unmarshal(patch.Raw, &fields); err != nil {
		return ir.RawJSON(patch.Raw)
	}
	return rawJSON(&fields)
}

// rawJSON writes a piece of an object as it is; nothing for nil.
func rawJSON[T any](piece *T) ir.RawJSON {
	if piece == nil {
		return ""
	}
	written, err := json.Marshal(piece)
	if err != nil {
		return "" // types of Kubernetes can always be written
	}
	return ir.RawJSON(written)
}

// list writes a list as it is; nothing for an empty one.
func list[T any](pieces []T) ir.RawJSON {
	if len(pieces) == 0 {
		return ""
	}
	return rawJSON(&pieces)
}

// plain is a map of texts without their types.
func plain[T ~string](typed map[string]T) map[string]string {
	if len(typed) == 0 {
		return nil
	}
	texts := make(map[string]string, len(typed))
	for key, text := range typed {
		texts[key] = string(text)
	}
	return texts
}
