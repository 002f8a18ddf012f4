package render

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// workload runs the proxies: a Deployment, or a DaemonSet.
func workload(gateway ir.Gateway, settings Settings, hash string) (Object, error) {
	spec, err := pod(gateway, settings)
	if err != nil {
		return nil, err
	}
	template := applycorev1.PodTemplateSpec().
		WithLabels(podLabels(gateway)).
		WithAnnotations(podAnnotations(gateway, hash)).
		WithSpec(spec)
	if gateway.Fleet.Proxies.DaemonSet {
		return patchWorkload(gateway, daemonSet(gateway, template))
	}
	return patchWorkload(gateway, deployment(gateway, template))
}

// deployment has a new proxy ready before an old one leaves. The number of replicas has another field owner, see [Scale].
func deployment(gateway ir.Gateway, template *applycorev1.PodTemplateSpecApplyConfiguration) Object {
	return applyappsv1.Deployment(gateway.Fleet.Name, gateway.FleetNamespace()).
		WithLabels(labels(gateway)).
		WithAnnotations(annotations(gateway)).
		WithOwnerReferences(owners(gateway)...).
		WithSpec(applyappsv1.DeploymentSpec().
			WithSelector(applymetav1.LabelSelector().WithMatchLabels(selector(gateway.Fleet.Name))).
			WithStrategy(applyappsv1.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(applyappsv1.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).
					WithMaxSurge(intstr.FromInt32(1)))).
			WithTemplate(template))
}

// daemonSet has a new proxy ready on a node before the old one there leaves, unless both need the same port of the node: then the old one
// leaves first, on one node at a time.
func daemonSet(gateway ir.Gateway, template *applycorev1.PodTemplateSpecApplyConfiguration) Object {
	surge, unavailable := int32(1), int32(0)
	if gateway.Fleet.Proxies.Pod.HostPorts {
		surge, unavailable = unavailable, surge
	}
	return applyappsv1.DaemonSet(gateway.Fleet.Name, gateway.FleetNamespace()).
		WithLabels(labels(gateway)).
		WithAnnotations(annotations(gateway)).
		WithOwnerReferences(owners(gateway)...).
		WithSpec(applyappsv1.DaemonSetSpec().
			WithSelector(applymetav1.LabelSelector().WithMatchLabels(selector(gateway.Fleet.Name))).
			WithUpdateStrategy(applyappsv1.DaemonSetUpdateStrategy().
				WithType(appsv1.RollingUpdateDaemonSetStrategyType).
				WithRollingUpdate(applyappsv1.RollingUpdateDaemonSet().
					WithMaxUnavailable(intstr.FromInt32(unavailable)).
					WithMaxSurge(intstr.FromInt32(surge)))).
			WithTemplate(template))
}

// podLabels are those of every object with the parameters' between the Gateway's own and ours.
func podLabels(gateway ir.Gateway) map[string]string {
	return over(chosen(gateway, gateway.Fleet.Labels), gateway.Fleet.Proxies.Pod.Labels, identityLabels(gateway))
}

func podAnnotations(gateway ir.Gateway, hash string) map[string]string {
	own := map[string]string{bootstrapHash: hash}
	wanted := over(chosen(gateway, gateway.Fleet.Annotations), gateway.Fleet.Proxies.Pod.Annotations, own)
	maps.DeleteFunc(wanted, func(key, _ string) bool { return reserved(key) })
	return wanted
}

// place says where pods go, with which priority, and how they get their image.
func place(spec *applycorev1.PodSpecApplyConfiguration, gateway ir.Gateway) error {
	wanted := gateway.Fleet.Proxies.Pod
	if len(wanted.NodeSelector) > 0 {
		spec.WithNodeSelector(wanted.NodeSelector)
	}
	if wanted.PriorityClass != "" {
		spec.WithPriorityClassName(wanted.PriorityClass)
	}
	for _, secret := range wanted.PullSecrets {
		spec.WithImagePullSecrets(applycorev1.LocalObjectReference().WithName(secret))
	}
	if wanted.Affinity != "" {
		affinity := applycorev1.Affinity()
		if err := read(wanted.Affinity, affinity); err != nil {
			return err
		}
		spec.WithAffinity(affinity)
	}
	var tolerations []*applycorev1.TolerationApplyConfiguration
	if err := read(wanted.Tolerations, &tolerations); err != nil {
		return err
	}
	spec.WithTolerations(tolerations...)
	spread, err := spreadConstraints(gateway)
	if err != nil {
		return err
	}
	spec.WithTopologySpreadConstraints(spread...)
	return nil
}

// spreadConstraints keep proxies apart as the parameters say, or over zones and nodes as far as that is possible. Pods of a DaemonSet are
// where they are.
func spreadConstraints(gateway ir.Gateway) ([]*applycorev1.TopologySpreadConstraintApplyConfiguration, error) {
	proxies := gateway.Fleet.Proxies
	own := applymetav1.LabelSelector().WithMatchLabels(selector(gateway.Fleet.Name))
	if proxies.Pod.Spread != "" {
		var constraints []*applycorev1.TopologySpreadConstraintApplyConfiguration
		if err := read(proxies.Pod.Spread, &constraints); err != nil {
			return nil, err
		}
		for _, constraint := range constraints {
			if constraint.LabelSelector == nil {
				constraint.WithLabelSelector(own)
			}
		}
		return constraints, nil
	}
	if proxies.DaemonSet {
		return nil, nil
	}
	var constraints []*applycorev1.TopologySpreadConstraintApplyConfiguration
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		constraints = append(constraints, applycorev1.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(key).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(own))
	}
	return constraints, nil
}

// defaultResources have a limit of memory, so that a proxy sheds load before it takes from others.
func defaultResources() ir.Resources {
	limit := resource.MustParse("1Gi")
	return ir.Resources{
		Requests:    map[string]string{"cpu": "50m", "memory": "128Mi"},
		Limits:      map[string]string{"memory": limit.String()},
		MemoryLimit: limit.Value(),
	}
}

func resourcesOf(gateway ir.Gateway) ir.Resources {
	if wanted := gateway.Fleet.Proxies.Pod.Resources; wanted != nil {
		return *wanted
	}
	return defaultResources()
}

func resources(wanted ir.Resources) (*applycorev1.ResourceRequirementsApplyConfiguration, error) {
	all := applycorev1.ResourceRequirements()
	requests, err := quantities(wanted.Requests)
	if err != nil {
		return nil, err
	}
	limits, err := quantities(wanted.Limits)
	if err != nil {
		return nil, err
	}
	if requests != nil {
		all.WithRequests(requests)
	}
	if limits != nil {
		all.WithLimits(limits)
	}
	return all, nil
}

// fewestThreads is how many threads a proxy has that asks for less CPU than that.
const fewestThreads = 2

// concurrency is the number of threads of a proxy: what it was told, its limit of CPU, or else what it requests. Envoy itself would take
// one for each core of the node, and each thread has connections of its own to each endpoint, and memory.
func concurrency(gateway ir.Gateway) ([]string, error) {
	if wanted := gateway.Fleet.Proxies.Concurrency; wanted != nil {
		return []string{"--concurrency", strconv.Itoa(int(*wanted))}, nil
	}
	wanted := resourcesOf(gateway)
	limits, err := quantities(wanted.Limits)
	if err != nil {
		return nil, err
	}
	threads := limits.Cpu().Value()
	if threads == 0 {
		requests, err := quantities(wanted.Requests)
		if err != nil {
			return nil, err
		}
		threads = max(fewestThreads, requests.Cpu().Value())
	}
	return []string{"--concurrency", strconv.FormatInt(threads, 10)}, nil
}
