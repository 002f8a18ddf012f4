package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/ir"
)

func exampleGateway() ir.Gateway {
	return ir.Gateway{
		Name: ir.Name{Namespace: "shop", Name: "edge"},
		Fleet: ir.Fleet{
			Name: "edge-gatewright", UID: "11111111-2222-3333-4444-555555555555", Class: "gatewright",
			Labels: map[string]string{
				"team": "shop", ir.ManagedByLabel: "me", ir.InstanceLabel: "mine", GatewayNameLabel: "other", gatewayClassLabel: "x",
			},
			Annotations: map[string]string{"note": "hello", bootstrapHash: "forged"},
		},
		Ports: []ir.Port{
			{Number: 80, Protocol: ir.HTTP, OnNodes: true}, {Number: 8443, Protocol: ir.HTTPS, OnNodes: true}, {Number: 8443, Protocol: ir.UDP},
		},
	}
}

func exampleSettings() Settings { return Settings{SystemNamespace: "gatewright-system"} }

var exampleBundle = []byte("bundle")

// rendered is a fleet as the API server would read it.
type rendered struct {
	raw            map[string][]byte
	serviceAccount corev1.ServiceAccount
	configMap      corev1.ConfigMap
	deployment     appsv1.Deployment
	daemonSet      *appsv1.DaemonSet
	budget         *policyv1.PodDisruptionBudget
	autoscaler     *autoscalingv2.HorizontalPodAutoscaler
	service        *corev1.Service
}

func render(t *testing.T, gateway ir.Gateway, settings Settings, bundle []byte) rendered {
	t.Helper()
	objects, err := Fleet(gateway, settings, bundle)
	if err != nil {
		t.Fatal(err)
	}
	result := rendered{raw: map[string][]byte{}}
	for _, object := range objects {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		result.raw[*object.GetKind()] = raw
		// What a fleet may not have is nil unless it is there.
		into := map[string]any{
			"ServiceAccount": &result.serviceAccount, "ConfigMap": &result.configMap, "Deployment": &result.deployment, "Service": &result.service,
			"DaemonSet": &result.daemonSet, "PodDisruptionBudget": &result.budget, "HorizontalPodAutoscaler": &result.autoscaler,
		}[*object.GetKind()]
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	return result
}

func TestEveryObject(t *testing.T) {
	t.Parallel()
	fleet := render(t, exampleGateway(), exampleSettings(), exampleBundle)
	pods := fleet.deployment.Spec.Template.ObjectMeta
	pods.Name, pods.Namespace, pods.OwnerReferences = fleet.deployment.Name, fleet.deployment.Namespace, fleet.deployment.OwnerReferences
	tests := map[string]metav1.ObjectMeta{
		"ServiceAccount": fleet.serviceAccount.ObjectMeta, "ConfigMap": fleet.configMap.ObjectMeta,
		"Deployment": fleet.deployment.ObjectMeta, "Service": fleet.service.ObjectMeta, "pod template": pods,
	}
	labels := map[string]string{
		"team":                                         "shop",
		"app.kubernetes.io/name":                       "envoy",
		"app.kubernetes.io/managed-by":                 "gatewright",
		"app.kubernetes.io/component":                  "proxy",
		"app.kubernetes.io/instance":                   "edge-gatewright",
		"gateway.networking.k8s.io/gateway-name":       "edge",
		"gateway.networking.k8s.io/gateway-class-name": "gatewright",
	}
	for name, meta := range tests {
		t.Run(name+" is named, labelled and owned as it should", func(t *testing.T) {
			t.Parallel()
			if meta.Namespace != "shop" || meta.Name != "edge-gatewright" {
				t.Errorf("it is called %s/%s", meta.Namespace, meta.Name)
			}
			for key, want := range labels {
				if got := meta.Labels[key]; got != want {
					t.Errorf("label %s is %q, want %q", key, got, want)
				}
			}
			if meta.Annotations["note"] != "hello" {
				t.Errorf("annotations are %v", meta.Annotations)
			}
			controller := metav1.GetControllerOfNoCopy(&meta)
			if controller == nil || controller.Kind != "Gateway" || controller.APIVersion != "gateway.networking.k8s.io/v1" ||
				controller.Name != "edge" || controller.UID != "11111111-2222-3333-4444-555555555555" || controller.BlockOwnerDeletion != nil {
				t.Errorf("its controller is %v", controller)
			}
		})
	}
}

// fact is something that must be so.
type fact struct {
	name string
	ok   bool
}

func check(t *testing.T, fleet rendered, facts []fact) {
	t.Helper()
	for _, fact := range facts {
		if !fact.ok {
			t.Errorf("it is not so that %s: %s", fact.name, fleet.raw["Deployment"])
		}
	}
}

func TestPodSecurityIsRestricted(t *testing.T) {
	t.Parallel()
	fleet := render(t, exampleGateway(), exampleSettings(), exampleBundle)
	pod := fleet.deployment.Spec.Template.Spec
	security := pod.Containers[0].SecurityContext
	isTrue := func(b *bool) bool { return b != nil && *b }
	isFalse := func(b *bool) bool { return b != nil && !*b }
	check(t, fleet, []fact{
		{"the pod may not run as root", isTrue(pod.SecurityContext.RunAsNonRoot) && *pod.SecurityContext.RunAsUser == 65532},
		{"the pod has the default seccomp profile", pod.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault},
		{"the only sysctl is a safe one", slices.Equal(pod.SecurityContext.Sysctls, []corev1.Sysctl{{
			Name: "net.ipv4.ip_unprivileged_port_start", Value: "0",
		}})},
		{"the container may not gain privileges", isFalse(security.AllowPrivilegeEscalation)},
		{"the container has no capabilities", slices.Equal(
			security.Capabilities.Drop, []corev1.Capability{"ALL"},
		) && security.Capabilities.Add == nil},
		{"the container cannot write to its image", isTrue(security.ReadOnlyRootFilesystem)},
		{
			"no token for the API server is mounted",
			isFalse(pod.AutomountServiceAccountToken) && isFalse(fleet.serviceAccount.AutomountServiceAccountToken),
		},
		{"no host namespace or path is used", !pod.HostNetwork && !pod.HostPID && !pod.HostIPC && !slices.ContainsFunc(
			pod.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil },
		)},
	})
}

func TestDeployment(t *testing.T) {
	t.Parallel()
	fleet := render(t, exampleGateway(), exampleSettings(), exampleBundle)
	spec := fleet.deployment.Spec
	pod := spec.Template.Spec
	envoy := pod.Containers[0]
	token := pod.Volumes[1].Projected.Sources[0].ServiceAccountToken
	check(t, fleet, []fact{
		{"there is one container", len(pod.Containers) == 1 && len(pod.InitContainers) == 0},
		{"only the readiness port is a container port", len(envoy.Ports) == 1 && envoy.Ports[0].ContainerPort == bootstrap.ReadyPort},
		{
			"waiting for the control plane kills nothing for a day",
			envoy.StartupProbe.HTTPGet.Path == bootstrap.ReadyPath && envoy.StartupProbe.FailureThreshold*envoy.StartupProbe.PeriodSeconds == 86400,
		},
		{
			"a proxy that hangs for a minute is replaced, by the same listener",
			envoy.LivenessProbe.HTTPGet.Path == bootstrap.ReadyPath && envoy.LivenessProbe.FailureThreshold*envoy.LivenessProbe.PeriodSeconds == 60,
		},
		{
			"readiness asks the static listener",
			envoy.ReadinessProbe.HTTPGet.Path == bootstrap.ReadyPath && envoy.ReadinessProbe.HTTPGet.Port.IntValue() == bootstrap.ReadyPort,
		},
		{"a leaving proxy serves until endpoints forgot it", envoy.Lifecycle.PreStop.Sleep.Seconds < *pod.TerminationGracePeriodSeconds},
		{"memory is limited and CPU is not", envoy.Resources.Limits.Cpu().IsZero() && envoy.Resources.Limits.Memory().String() == "1Gi"},
		{"replicas are left to others", spec.Replicas == nil},
		{
			"no proxy leaves before another is ready",
			spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() == 0 && spec.Strategy.RollingUpdate.MaxSurge.IntValue() == 1,
		},
		{
			"the selector selects the pods",
			metav1.FormatLabelSelector(spec.Selector) == "app.kubernetes.io/instance=edge-gatewright,app.kubernetes.io/managed-by=gatewright",
		},
		{
			"the token is for the control plane, of this ServiceAccount and short-lived",
			pod.ServiceAccountName == fleet.serviceAccount.Name && token.Audience == TokenAudience && *token.ExpirationSeconds == 3600,
		},
		{"each proxy is started under its pod's name", slices.Contains(
			envoy.Args, "$(POD_NAME)",
		) && envoy.Env[0].ValueFrom.FieldRef.FieldPath == "metadata.name"},
		{"no Secret is mounted", !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })},
		{"the default image is used", envoy.Image == DefaultImage && envoy.ImagePullPolicy == corev1.PullIfNotPresent},
		{"the hash cannot be forged", spec.Template.Annotations[bootstrapHash] != "forged"},
	})
}

func TestService(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	gateway.Fleet.Addresses = []string{"192.0.2.7", "192.0.2.8"}
	fleet := render(t, gateway, exampleSettings(), exampleBundle)
	spec := fleet.service.Spec
	if spec.Type != corev1.ServiceTypeLoadBalancer || spec.LoadBalancerIP != "192.0.2.7" || spec.ExternalIPs != nil {
		t.Errorf("type %s, address %s, external %v", spec.Type, spec.LoadBalancerIP, spec.ExternalIPs)
	}
	var ports []string
	for _, port := range spec.Ports {
		if port.TargetPort.IntVal != port.Port {
			t.Errorf("port %s leads to %s", port.Name, port.TargetPort.String())
		}
		ports = append(ports, port.Name+"/"+string(port.Protocol))
	}
	if !slices.Equal(ports, []string{"http-80/TCP", "https-8443/TCP", "udp-8443/UDP"}) {
		t.Errorf("ports are %v", ports)
	}
	gateway.Ports = nil
	if render(t, gateway, exampleSettings(), exampleBundle).service != nil {
		t.Error("a Gateway without ports has a Service, which Kubernetes would refuse")
	}
}

func TestServiceInsideTheCluster(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	gateway.Fleet.InCluster, gateway.Fleet.InClusterOnly, gateway.Fleet.ClusterAddresses = true, true, []string{"192.0.2.9"}
	spec := render(t, gateway, exampleSettings(), exampleBundle).service.Spec
	if spec.Type != corev1.ServiceTypeClusterIP || spec.ClusterIP != "192.0.2.9" || spec.LoadBalancerIP != "" {
		t.Errorf("type %s, cluster address %q, address %q", spec.Type, spec.ClusterIP, spec.LoadBalancerIP)
	}
	gateway.Fleet.InClusterOnly = false
	if spec := render(t, gateway, exampleSettings(), exampleBundle).service.Spec; spec.Type != corev1.ServiceTypeLoadBalancer {
		t.Errorf("with an address outside too, the type is %s", spec.Type)
	}
}

func TestWhatChangesWhat(t *testing.T) {
	t.Parallel()
	base := render(t, exampleGateway(), exampleSettings(), exampleBundle)
	tests := []struct {
		name    string
		edit    func(*ir.Gateway, *Settings, *[]byte)
		changed []string
	}{
		{"nothing", func(*ir.Gateway, *Settings, *[]byte) {}, nil},
		{"a new authority changes the ConfigMap and rolls no pod", func(
			_ *ir.Gateway, _ *Settings, b *[]byte,
		) {
			*b = []byte("new")
		}, []string{"ConfigMap"}},
		{"a new port changes the Service alone", func(g *ir.Gateway, _ *Settings, _ *[]byte) {
			g.Ports = append(g.Ports, ir.Port{Number: 9000, Protocol: ir.HTTP})
		}, []string{"Service"}},
		{"a moved control plane rolls the pods", func(_ *ir.Gateway, s *Settings, _ *[]byte) { s.XDSPort = 1 }, []string{
			"ConfigMap", "Deployment",
		}},
		{"a new image changes the Deployment alone", func(_ *ir.Gateway, s *Settings, _ *[]byte) { s.Image = "x" }, []string{"Deployment"}},
		{"an annotation changes everything", func(g *ir.Gateway, _ *Settings, _ *[]byte) {
			g.Fleet.Annotations = map[string]string{"a": "b"}
		}, []string{"ConfigMap", "Deployment", "Service", "ServiceAccount"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gateway, settings, bundle := exampleGateway(), exampleSettings(), exampleBundle
			test.edit(&gateway, &settings, &bundle)
			var changed []string
			for kind, raw := range render(t, gateway, settings, bundle).raw {
				if !bytes.Equal(raw, base.raw[kind]) {
					changed = append(changed, kind)
				}
			}
			slices.Sort(changed)
			if !slices.Equal(changed, test.changed) {
				t.Errorf("changed %v, want %v", changed, test.changed)
			}
		})
	}
}

func TestLabelValue(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 53) + "." + strings.Repeat("b", 100)
	if got := LabelValue("edge.example"); got != "edge.example" {
		t.Errorf("a short name became %s", got)
	}
	if got := LabelValue(long); len(got) > 63 || got == LabelValue(long+"b") || strings.Contains(got, ".-") {
		t.Errorf("a long name became %s", got)
	}
	// These have the same hash of 32 bits by FNV-1a.
	one, other := strings.Repeat("a", 60)+"-f00a", strings.Repeat("a", 60)+"-9b318"
	if LabelValue(one) == LabelValue(other) {
		t.Errorf("two names became %s", LabelValue(one))
	}
}
