package render

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestAGatewayLabelsNothingButItsServiceInGatewrightsNamespace is about webhooks, cloud identities and NetworkPolicies that act on labels
// and annotations.
func TestAGatewayLabelsNothingButItsServiceInGatewrightsNamespace(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	gateway.Fleet.OtherNamespace, gateway.Fleet.Name = "gatewright-system", ir.SystemFleetName(gateway.Name, "gatewright")
	gateway.Fleet.Labels["sidecar.istio.io/inject"] = "true"
	gateway.Fleet.Proxies = ir.Proxies{
		Autoscaling: &ir.Autoscaling{Max: 3},
		Pod:         ir.Pod{Labels: map[string]string{"of": "class"}, Annotations: map[string]string{"of": "class"}},
	}
	fleet := render(t, gateway, exampleSettings(), exampleBundle)
	gateway.Fleet.Proxies = ir.Proxies{DaemonSet: true}
	daemons := render(t, gateway, exampleSettings(), exampleBundle)
	for kind, meta := range map[string]metav1.ObjectMeta{
		"ServiceAccount": fleet.serviceAccount.ObjectMeta, "ConfigMap": fleet.configMap.ObjectMeta, "Deployment": fleet.deployment.ObjectMeta,
		"pods": fleet.deployment.Spec.Template.ObjectMeta, "PodDisruptionBudget": fleet.budget.ObjectMeta,
		"HorizontalPodAutoscaler": fleet.autoscaler.ObjectMeta,
		"DaemonSet":               daemons.daemonSet.ObjectMeta, "pods of a DaemonSet": daemons.daemonSet.Spec.Template.ObjectMeta,
	} {
		if meta.Labels["team"] != "" || meta.Labels["sidecar.istio.io/inject"] != "" || meta.Annotations["note"] != "" {
			t.Errorf("%s: the Gateway chose labels %v and annotations %v", kind, meta.Labels, meta.Annotations)
		}
		if meta.Labels[ir.OwnerLabel] != gateway.Fleet.UID {
			t.Errorf("%s: it does not say whose it is: %v", kind, meta.Labels)
		}
	}
	if pods := fleet.deployment.Spec.Template; pods.Labels["of"] != "class" || pods.Annotations["of"] != "class" {
		t.Errorf("what the class says is not on the pods: %v, %v", pods.Labels, pods.Annotations)
	}
	if front := fleet.service; front.Labels["team"] != "shop" || front.Annotations["note"] != "hello" {
		t.Errorf("what the Gateway says is not on its Service: %v, %v", front.Labels, front.Annotations)
	}
}

// TestReservedAnnotations: some annotations take a pod out of the Pod Security Standards, and others are where Kubernetes' controllers keep
// their state.
func TestReservedAnnotations(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	gateway.Fleet.Annotations["container.apparmor.security.beta.kubernetes.io/envoy"] = "unconfined"
	gateway.Fleet.Annotations["deployment.kubernetes.io/revision"] = "99"
	gateway.Fleet.Proxies.Pod.Annotations = map[string]string{"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
	fleet := render(t, gateway, exampleSettings(), exampleBundle)
	for kind, meta := range map[string]metav1.ObjectMeta{
		"Deployment": fleet.deployment.ObjectMeta, "pods": fleet.deployment.Spec.Template.ObjectMeta, "Service": fleet.service.ObjectMeta,
	} {
		for key := range meta.Annotations {
			if reserved(key) {
				t.Errorf("%s has annotation %s", kind, key)
			}
		}
		if meta.Annotations["note"] != "hello" {
			t.Errorf("%s lacks an annotation of the Gateway: %v", kind, meta.Annotations)
		}
	}
}
