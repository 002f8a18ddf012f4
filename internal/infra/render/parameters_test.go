package render

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

func template(f rendered) corev1.PodTemplateSpec {
	if f.daemonSet != nil {
		return f.daemonSet.Spec.Template
	}
	return f.deployment.Spec.Template
}

func envoy(f rendered) corev1.Container { return template(f).Spec.Containers[0] }

// threads is how many threads Envoy is told to have.
func threads(f rendered) string {
	args := envoy(f).Args
	if i := slices.Index(args, "--concurrency"); i >= 0 {
		return args[i+1]
	}
	return ""
}

// parameterCases has one for each thing that parameters can say about a fleet's objects.
var parameterCases = []struct {
	name string
	edit func(*ir.Proxies)
	ok   func(rendered) bool
}{
	{"a DaemonSet instead of a Deployment", func(p *ir.Proxies) { p.DaemonSet = true }, func(f rendered) bool {
		return f.daemonSet != nil && f.raw["Deployment"] == nil && f.daemonSet.Spec.UpdateStrategy.RollingUpdate.MaxSurge.IntValue() == 1 &&
			f.daemonSet.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue() == 0 && template(f).Spec.TopologySpreadConstraints == nil
	}},
	{"one proxy has no budget", func(*ir.Proxies) {}, func(f rendered) bool { return f.budget == nil }},
	{"several proxies have a budget", func(p *ir.Proxies) { p.Replicas = new(int32(2)) }, func(f rendered) bool {
		return f.budget.Spec.MaxUnavailable.IntValue() == 1 && f.deployment.Spec.Replicas == nil
	}},
	{"a budget in per cent", func(p *ir.Proxies) { p.Disruption = &ir.Disruption{MinAvailable: "50%"} }, func(f rendered) bool {
		return f.budget.Spec.MinAvailable.String() == "50%" && f.budget.Spec.MaxUnavailable == nil
	}},
	{"a budget as a number", func(p *ir.Proxies) { p.Disruption = &ir.Disruption{MaxUnavailable: "3"} }, func(f rendered) bool {
		return f.budget.Spec.MaxUnavailable.IntValue() == 3 && maps.Equal(
			f.budget.Spec.Selector.MatchLabels, f.deployment.Spec.Selector.MatchLabels,
		)
	}},
	{"an autoscaler by default", func(p *ir.Proxies) { p.Autoscaling = &ir.Autoscaling{Max: 5} }, func(f rendered) bool {
		spec := f.autoscaler.Spec
		return *spec.MinReplicas == 2 && spec.MaxReplicas == 5 && spec.ScaleTargetRef.Name == "edge-gatewright" &&
			spec.ScaleTargetRef.Kind == "Deployment" &&
			*spec.Metrics[0].Resource.Target.AverageUtilization == 80 && f.budget != nil && f.deployment.Spec.Replicas == nil
	}},
	{"an autoscaler in detail", func(p *ir.Proxies) {
		p.Autoscaling = &ir.Autoscaling{
			Min: new(int32(1)), Max: 5, Behavior: `{"scaleDown":{"stabilizationWindowSeconds":7}}`,
			Metrics: `[{"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"64Mi"}}}]`,
		}
	}, func(f rendered) bool {
		spec := f.autoscaler.Spec
		return *spec.MinReplicas == 1 && spec.Metrics[0].Resource.Name == "memory" &&
			*spec.Behavior.ScaleDown.StabilizationWindowSeconds == 7 && f.budget == nil
	}},
	{"another image", func(p *ir.Proxies) { p.Pod.Image, p.Pod.PullSecrets = "e:1", []string{"s"} }, func(f rendered) bool {
		return envoy(f).Image == "e:1" && template(f).Spec.ImagePullSecrets[0].Name == "s"
	}},
	{"other resources", func(p *ir.Proxies) {
		p.Pod.Resources = &ir.Resources{Requests: map[string]string{"cpu": "1"}, Limits: map[string]string{"cpu": "1500m"}}
	}, func(f rendered) bool {
		r := envoy(f).Resources
		return r.Requests.Cpu().String() == "1" && r.Limits.Memory().IsZero() && threads(f) == "2"
	}},
	{"the cluster assigns a user", func(p *ir.Proxies) { p.Pod.AssignedUser = true }, func(f rendered) bool {
		security := template(f).Spec.SecurityContext
		return security.RunAsUser == nil && security.RunAsGroup == nil && security.FSGroup == nil && *security.RunAsNonRoot
	}},
	{"ports of the nodes, beside a patch", func(p *ir.Proxies) {
		p.DaemonSet, p.Pod.HostPorts, p.Patches.Workload = true, true, `{"metadata":{"annotations":{"a":"b"}}}`
	}, func(f rendered) bool {
		ports, update := envoy(f).Ports, f.daemonSet.Spec.UpdateStrategy.RollingUpdate
		return len(ports) == 3 && ports[1].HostPort == 80 && ports[1].ContainerPort == 80 && ports[2].HostPort == 8443 &&
			update.MaxSurge.IntValue() == 0 && update.MaxUnavailable.IntValue() == 1
	}},
	{"no port of a node otherwise", func(*ir.Proxies) {}, func(f rendered) bool { return len(envoy(f).Ports) == 1 }},
	{
		"as many threads as asked for", func(p *ir.Proxies) { p.Concurrency = new(int32(3)) },
		func(f rendered) bool { return threads(f) == "3" },
	},
	{"two threads where little CPU is requested", func(*ir.Proxies) {}, func(f rendered) bool { return threads(f) == "2" }},
	{"as many threads as CPU is requested", func(p *ir.Proxies) {
		p.Pod.Resources = &ir.Resources{Requests: map[string]string{"cpu": "3500m"}}
	}, func(f rendered) bool { return threads(f) == "4" }},
	{"labels and annotations of pods, but not ours", func(p *ir.Proxies) {
		p.Pod.Labels = map[string]string{"a": "b", ir.InstanceLabel: "mine"}
		p.Pod.Annotations = map[string]string{"c": "d", bootstrapHash: "mine"}
	}, func(f rendered) bool {
		pods := template(f)
		return pods.Labels["a"] == "b" && pods.Labels[ir.InstanceLabel] == "edge-gatewright" && pods.Annotations["c"] == "d" &&
			pods.Annotations[bootstrapHash] != "mine" && f.deployment.Labels["a"] == "" && f.service.Labels["a"] == ""
	}},
	{"where pods go", func(p *ir.Proxies) {
		p.Pod.NodeSelector, p.Pod.PriorityClass = map[string]string{"zone": "a"}, "high"
		p.Pod.Affinity = `{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":7,"preference":{}}]}}`
		p.Pod.Tolerations = `[{"key":"edge","operator":"Exists"}]`
	}, func(f rendered) bool {
		pods := template(f).Spec
		return pods.NodeSelector["zone"] == "a" && pods.PriorityClassName == "high" && pods.Tolerations[0].Key == "edge" &&
			pods.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Weight == 7
	}},
	{"pods are spread over zones and nodes", func(*ir.Proxies) {}, func(f rendered) bool {
		spread := template(f).Spec.TopologySpreadConstraints
		return len(spread) == 2 && spread[0].TopologyKey == "topology.kubernetes.io/zone" && spread[1].TopologyKey == "kubernetes.io/hostname" &&
			maps.Equal(spread[0].LabelSelector.MatchLabels, f.deployment.Spec.Selector.MatchLabels)
	}},
	{"pods are spread as asked for", func(p *ir.Proxies) {
		p.Pod.Spread = `[{"maxSkew":2,"topologyKey":"rack","whenUnsatisfiable":"DoNotSchedule"}]`
	}, func(f rendered) bool {
		spread := template(f).Spec.TopologySpreadConstraints
		return len(spread) == 1 && spread[0].TopologyKey == "rack" && maps.Equal(
			spread[0].LabelSelector.MatchLabels, f.deployment.Spec.Selector.MatchLabels,
		)
	}},
	{
		"pods are not spread", func(p *ir.Proxies) { p.Pod.Spread = "[]" },
		func(f rendered) bool { return template(f).Spec.TopologySpreadConstraints == nil },
	},
	{"a Service on nodes' ports", func(p *ir.Proxies) {
		p.Service = ir.Service{
			Type: "NodePort", NodePorts: map[string]int32{"80": 30080, "8443/udp": 30443}, ExternalPolicy: "Local", InternalPolicy: "Local",
			LoadBalancerClass: "not for this type", SourceRanges: []string{"192.0.2.0/24"},
		}
	}, func(f rendered) bool {
		spec := f.service.Spec
		return spec.Type == corev1.ServiceTypeNodePort && spec.Ports[0].NodePort == 30080 && spec.Ports[1].NodePort == 0 &&
			spec.Ports[2].NodePort == 30443 &&
			spec.ExternalTrafficPolicy == "Local" && *spec.InternalTrafficPolicy == "Local" && spec.LoadBalancerClass == nil &&
			spec.LoadBalancerSourceRanges == nil
	}},
	{"a load balancer of a class", func(p *ir.Proxies) {
		p.Service = ir.Service{
			LoadBalancerClass: "a/b", SourceRanges: []string{"192.0.2.0/24"}, Annotations: map[string]string{"lb": "internal"},
			Families: []string{"IPv6", "IPv4"}, FamilyPolicy: "RequireDualStack",
		}
	}, func(f rendered) bool {
		spec := f.service.Spec
		return spec.Type == corev1.ServiceTypeLoadBalancer && *spec.LoadBalancerClass == "a/b" && slices.Equal(
			spec.LoadBalancerSourceRanges, []string{"192.0.2.0/24"},
		) &&
			f.service.Annotations["lb"] == "internal" && f.deployment.Annotations["lb"] == "" && spec.IPFamilies[0] == corev1.IPv6Protocol &&
			*spec.IPFamilyPolicy == "RequireDualStack"
	}},
	{"a Service inside the cluster", func(p *ir.Proxies) {
		p.Service = ir.Service{Type: "ClusterIP", NodePorts: map[string]int32{"80": 30080}, ExternalPolicy: "Local"}
	}, func(f rendered) bool {
		return f.service.Spec.Type == corev1.ServiceTypeClusterIP && f.service.Spec.Ports[0].NodePort == 0 &&
			f.service.Spec.ExternalTrafficPolicy == ""
	}},
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for _, test := range parameterCases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gateway := exampleGateway()
			test.edit(&gateway.Fleet.Proxies)
			if fleet := render(t, gateway, exampleSettings(), exampleBundle); !test.ok(fleet) {
				t.Errorf("not so: %s", fleet.raw)
			}
		})
	}
}

func TestScale(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		proxies ir.Proxies
		want    string
	}{
		{"no number is set", ir.Proxies{}, ""},
		{"a number", ir.Proxies{Replicas: new(int32(3))}, `{"replicas":3}`},
		{"none at all", ir.Proxies{Replicas: new(int32(0))}, `{"replicas":0}`},
		{"an autoscaler says it", ir.Proxies{Replicas: new(int32(3)), Autoscaling: &ir.Autoscaling{Max: 4}}, ""},
		{"a DaemonSet has none", ir.Proxies{Replicas: new(int32(3)), DaemonSet: true}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gateway := exampleGateway()
			gateway.Fleet.Proxies = test.proxies
			object := Scale(gateway)
			if test.want == "" {
				if object != nil {
					t.Fatalf("got %v", object)
				}
				return
			}
			raw, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(string(raw), `"spec":`+test.want+`}`) {
				t.Errorf("got %s", raw)
			}
			var deployment appsv1.Deployment
			if err := json.Unmarshal(raw, &deployment); err != nil || deployment.Labels != nil {
				t.Errorf("more than the number is said: %s, %v", raw, err)
			}
		})
	}
}
