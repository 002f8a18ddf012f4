//go:build fault

package fault

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// hostile is what a tenant might try by a patch of the Deployment, or of the Service where it begins so.
var hostile = []string{
	`{"spec":{"template":{"spec":{"hostNetwork":true}}}}`,
	`{"spec":{"template":{"spec":{"hostPID":true}}}}`,
	`{"spec":{"template":{"spec":{"volumes":[{"name":"host","hostPath":{"path":"/"}}]}}}}`,
	`{"spec":{"template":{"spec":{"containers":[{"name":"envoy","securityContext":{"privileged":true}}]}}}}`,
	`{"spec":{"template":{"spec":{"containers":[{"name":"envoy","securityContext":{"capabilities":{"add":["SYS_ADMIN"]}}}]}}}}`,
	`{"spec":{"template":{"spec":{"containers":[{"name":"envoy","securityContext":{"$patch":"replace"}}]}}}}`,
	`{"spec":{"template":{"spec":{"initContainers":[{"name":"x","image":"x","securityContext":{"runAsUser":0}}]}}}}`,
	`{"spec":{"template":{"spec":{"serviceAccountName":"default"}}}}`,
	`{"spec":{"template":{"spec":{"automountServiceAccountToken":true}}}}`,
	`{"spec":{"selector":{"matchLabels":{"app":"victim"}}}}`,
	`{"metadata":{"name":"victim"}}`,
	`{"metadata":{"namespace":"kube-system"}}`,
	`service {"spec":{"externalIPs":["192.0.2.1"]}}`,
	`service {"spec":{"selector":{"app":"victim"}}}`,
}

// TestCase56TenantPatchesAndNames lets a tenant ask for all kinds of power over a patch, and name Gateways after things that exist: no
// pod is privileged, nothing is taken over, and each Gateway says why.
//
//nolint:paralleltest // it looks at what others leave alone
func TestCase56TenantPatchesAndNames(t *testing.T) {
	c := begin(t, "56", "tenants choose their infrastructure, and names that are taken")
	w := &fixture{Fixture: live.New(t)}
	reported := 0
	for i, patch := range hostile {
		name := fmt.Sprintf("hostile-%d", i)
		raw := &v1alpha1.Patches{}
		if text, ok := strings.CutPrefix(patch, "service "); ok {
			raw.Service = &runtime.RawExtension{Raw: []byte(text)}
		} else {
			raw.Deployment = &runtime.RawExtension{Raw: []byte(patch)}
		}
		gateway, config := live.GatewayWith(name, v1alpha1.ProxyConfigSpec{Patches: raw})
		w.Make(t, config, gateway)
	}
	for i := range hostile {
		if message := w.WaitRefused(t, fmt.Sprintf("hostile-%d", i)); strings.Contains(message, "patches.") {
			reported++
		} else {
			t.Errorf("%s is reported %q", hostile[i], message)
		}
	}
	c.exactly(reported, "patches refused on their Gateways", len(hostile))

	// What exists under the name of a fleet has an owner.
	victim := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "taken-" + live.GatewayClass}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "victim"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "victim"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "victim"}}},
		},
	}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "stolen-" + live.GatewayClass}}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "shadowed-" + live.GatewayClass},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 9}}},
	}
	w.Make(t, victim, account, service)
	var gateways []*gwv1.Gateway
	for _, name := range []string{"taken", "stolen", "shadowed"} {
		gateway, _ := live.GatewayWith(name, v1alpha1.ProxyConfigSpec{})
		gateway.Spec.Infrastructure = nil
		gateways = append(gateways, gateway)
		w.Make(t, gateway)
	}
	// A Gateway that is served afterwards shows that these have had their turn.
	w.Gateway(t, "bystander")
	takeovers := 0
	for _, object := range []client.Object{victim, account, service} {
		before := object.GetResourceVersion()
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil || (object.GetResourceVersion() != before &&
			object.GetLabels()["app.kubernetes.io/managed-by"] != "") || len(object.GetOwnerReferences()) > 0 {
			t.Errorf("%T %s was taken over: %v", object, object.GetName(), err)
			takeovers++
		}
	}
	c.none(takeovers, fmt.Sprintf("of %d objects taken over", len(gateways)))
	for _, gateway := range gateways {
		live.Eventually(t, 30*time.Second, 100*time.Millisecond, func(ctx context.Context) error { return w.saysTaken(ctx, gateway) })
	}
	c.exactly(len(gateways), "Gateways that say so", len(gateways))
	c.none(w.powerful(t), "privileged pods or workloads")
}

// saysTaken says why a Gateway does not say that something of another's stands where its fleet should be.
func (w *fixture) saysTaken(ctx context.Context, gateway *gwv1.Gateway) error {
	if err := w.Get(ctx, client.ObjectKeyFromObject(gateway), gateway); err != nil {
		return err
	}
	programmed := meta.FindStatusCondition(gateway.Status.Conditions, string(gwv1.GatewayConditionProgrammed))
	if programmed == nil || programmed.Status != metav1.ConditionFalse || !strings.Contains(
		programmed.Message, "exists and is not Gatewright's",
	) {
		return fmt.Errorf("Gateway %s says %+v", gateway.Name, programmed)
	}
	return nil
}

// powerful counts the workloads and pods of the test's namespace that may do more than a restricted one, but for the victims.
func (w *fixture) powerful(t *testing.T) int {
	t.Helper()
	found := 0
	count := func(name string, spec corev1.PodSpec) {
		if privileged(spec) {
			t.Errorf("%s is privileged", name)
			found++
		}
	}
	var deployments appsv1.DeploymentList
	var pods corev1.PodList
	if err := w.List(
		t.Context(), &deployments, client.InNamespace(w.Namespace), client.MatchingLabels{"app.kubernetes.io/managed-by": "gatewright"},
	); err != nil {
		t.Fatal(err)
	}
	if err := w.List(
		t.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{"app.kubernetes.io/managed-by": "gatewright"},
	); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	for i := range deployments.Items {
		count(deployments.Items[i].Name, deployments.Items[i].Spec.Template.Spec)
	}
	for i := range pods.Items {
		count(pods.Items[i].Name, pods.Items[i].Spec)
	}
	return found
}

// privileged says whether a pod may do more than a restricted one.
func privileged(spec corev1.PodSpec) bool {
	for _, volume := range spec.Volumes {
		if volume.HostPath != nil {
			return true
		}
	}
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		security := c.SecurityContext
		if security == nil || security.Privileged != nil && *security.Privileged || security.Capabilities == nil ||
			len(security.Capabilities.Add) > 0 ||
			security.AllowPrivilegeEscalation == nil || *security.AllowPrivilegeEscalation {
			return true
		}
	}
	return spec.HostNetwork || spec.HostPID || spec.HostIPC || spec.ServiceAccountName == "default"
}
