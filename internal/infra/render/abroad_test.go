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
	gateway.Fleet.Abroad, gateway.Fleet.Name = "gatewright-system", ir.SystemFleetName(gateway.Name, "gatewright")
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
		"pods": fleet.deployment.Spec.Template.ObjectMeta, "PodDisruptionBudget": fleet.budget.ObjectMeta, "HorizontalPodAutoscaler": fleet.autoscaler.ObjectMeta,
		"DaemonSet": daemons.daemonSet.ObjectMeta, "pods of a DaemonSet": daemons.daemonSet.Spec.Template.ObjectMeta,
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
