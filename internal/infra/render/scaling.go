package render

import (
	"cmp"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applyautoscalingv2 "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	applypolicyv1 "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// minReplicas is where an autoscaler begins that was not told.
	minReplicas = 2
	// cpuPercent of what is requested is what an autoscaler aims at that was not told.
	cpuPercent = 80
)

// Scale is the number of proxies in a fleet, nil if it is not ours to say. It is applied apart from the Deployment and under another
// owner: an owner that no longer sets a number must not own it, or Kubernetes would remove it and start again with one.
func Scale(gateway ir.Gateway) Object {
	proxies := gateway.Fleet.Proxies
	if proxies.DaemonSet || proxies.Autoscaling != nil || proxies.Replicas == nil || gateway.Fleet.Shared != (ir.Name{}) {
		return nil
	}
	return applyappsv1.Deployment(gateway.Fleet.Name, gateway.FleetNamespace()).
		WithSpec(applyappsv1.DeploymentSpec().WithReplicas(*proxies.Replicas))
}

// autoscaler lets the number of proxies follow the load; nil if it is not asked for.
func autoscaler(gateway ir.Gateway) (Object, error) {
	wanted := gateway.Fleet.Proxies.Autoscaling
	if wanted == nil {
		return nil, nil
	}
	var metrics []*applyautoscalingv2.MetricSpecApplyConfiguration
	if err := read(wanted.Metrics, &metrics); err != nil {
		return nil, err
	}
	if len(metrics) == 0 {
		metrics = append(metrics, applyautoscalingv2.MetricSpec().
			WithType(autoscalingv2.ResourceMetricSourceType).
			WithResource(applyautoscalingv2.ResourceMetricSource().
				WithName(corev1.ResourceCPU).
				WithTarget(applyautoscalingv2.MetricTarget().
					WithType(autoscalingv2.UtilizationMetricType).
					WithAverageUtilization(cpuPercent))))
	}
	spec := applyautoscalingv2.HorizontalPodAutoscalerSpec().
		WithScaleTargetRef(applyautoscalingv2.CrossVersionObjectReference().
			WithAPIVersion("apps/v1").WithKind("Deployment").WithName(gateway.Fleet.Name)).
		WithMinReplicas(autoscalingMin(wanted)).
		WithMaxReplicas(wanted.Max).
		WithMetrics(metrics...)
	if wanted.Behavior != "" {
		behavior := applyautoscalingv2.HorizontalPodAutoscalerBehavior()
		if err := read(wanted.Behavior, behavior); err != nil {
			return nil, err
		}
		spec.WithBehavior(behavior)
	}
	return applyautoscalingv2.HorizontalPodAutoscaler(gateway.Fleet.Name, gateway.FleetNamespace()).
		WithLabels(labels(gateway)).
		WithAnnotations(annotations(gateway)).
		WithOwnerReferences(owners(gateway)...).
		WithSpec(spec), nil
}

func autoscalingMin(wanted *ir.Autoscaling) int32 {
	if wanted.Min != nil {
		return *wanted.Min
	}
	return min(minReplicas, wanted.Max)
}

// disruptionBudget keeps proxies from being evicted all at once; nil where there may be one only, which could then never be evicted.
func disruptionBudget(gateway ir.Gateway) Object {
	proxies := gateway.Fleet.Proxies
	least := int32(1)
	switch {
	case proxies.DaemonSet:
		return nil // Kubernetes cannot tell how many there should be
	case proxies.Autoscaling != nil:
		least = autoscalingMin(proxies.Autoscaling)
	case proxies.Replicas != nil:
		least = *proxies.Replicas
	}
	spec := applypolicyv1.PodDisruptionBudgetSpec().
		WithSelector(applymetav1.LabelSelector().WithMatchLabels(selector(gateway.Fleet.Name)))
	switch wanted := proxies.Disruption; {
	case wanted != nil && wanted.MinAvailable != "":
		spec.WithMinAvailable(intstr.Parse(wanted.MinAvailable))
	case wanted != nil:
		spec.WithMaxUnavailable(intstr.Parse(cmp.Or(wanted.MaxUnavailable, "1")))
	case least >= 2:
		spec.WithMaxUnavailable(intstr.FromInt32(1))
	default:
		return nil
	}
	return applypolicyv1.PodDisruptionBudget(gateway.Fleet.Name, gateway.FleetNamespace()).
		WithLabels(labels(gateway)).
		WithAnnotations(annotations(gateway)).
		WithOwnerReferences(owners(gateway)...).
		WithSpec(spec)
}
