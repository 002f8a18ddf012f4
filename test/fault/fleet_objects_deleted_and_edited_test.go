//go:build fault

package fault

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// restoreLimit is how long an object of a fleet may be missing or wrong.
const restoreLimit = 30 * time.Second

// meddling is one thing that another client does to an object of a fleet. An edit returns whether the object is as it should be.
type meddling struct {
	name   string
	object client.Object
	edit   func()
	right  func() bool
}

// TestCase49FleetObjectsDeletedAndEdited deletes each object of a fleet, and then edits it. Each is restored. What
// does not take the proxies' traffic away by itself happens under load.
func TestCase49FleetObjectsDeletedAndEdited(t *testing.T) {
	t.Parallel()
	c := begin(t, "49", "each object of a fleet is deleted, and edited")
	w := &fixture{Fixture: live.New(t)}
	w.Echo(t, serviceName, 2)
	w.EchoService(t, serviceName)
	gateway, config := live.GatewayWith(gatewayName, v1alpha1.ProxyConfigSpec{
		Autoscaling: &v1alpha1.Autoscaling{MinReplicas: new(int32(2)), MaxReplicas: 3},
	})
	w.Make(t, config)
	w.address = w.Programmed(t, gateway)
	w.Route(t, "steady", gatewayName, steadyHost, serviceName)
	w.WaitServed(t, w.address, steadyHost)
	w.WaitProxies(t, gatewayName, 2)

	requests := w.startLoad(t, steadyHost)
	var slowest time.Duration
	deleted := []client.Object{
		&corev1.ConfigMap{}, &corev1.ServiceAccount{}, &policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{},
	}
	for _, object := range deleted {
		slowest = max(slowest, w.deleteOfFleet(t, object))
	}
	edits := w.meddlings()
	for _, m := range edits {
		slowest = max(slowest, w.editOfFleet(t, m))
	}
	c.took(slowest, fmt.Sprintf("%d deletions and %d edits, each restored within", len(deleted), len(edits)), restoreLimit)
	w.WaitProxies(t, gatewayName, 2)
	c.load(requests.Stop())

	// These take the traffic away, so what counts is when it is back.
	c.took(w.deleteOfFleet(t, &appsv1.Deployment{}), "a deleted Deployment is restored within", restoreLimit)
	w.WaitProxies(t, gatewayName, 2)
	service := &corev1.Service{}
	c.took(w.editOfFleet(t, meddling{
		name: "selector of the Service", object: service,
		edit:  func() { service.Spec.Selector = map[string]string{"app": "other"} },
		right: func() bool { return service.Spec.Selector["app"] == "" },
	}), "the selector of the Service is restored within", restoreLimit)
	w.WaitServed(t, w.address, steadyHost)
	c.took(w.deleteOfFleet(t, &corev1.Service{}), "a deleted Service is restored within", restoreLimit)
	w.WaitServed(t, w.WaitProgrammed(t, gateway), steadyHost)
}

// meddlings are the edits that running proxies do not notice.
func (w *fixture) meddlings() []meddling {
	files, account := &corev1.ConfigMap{}, &corev1.ServiceAccount{}
	budget, scaler := &policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{}
	deployment := &appsv1.Deployment{}
	image := "example.invalid/other:1"
	container := func() *corev1.Container { return &deployment.Spec.Template.Spec.Containers[0] }
	return []meddling{
		{
			"data of the ConfigMap", files,
			func() { files.Data = map[string]string{"mine": "yes"} },
			func() bool { return len(files.Data) > 1 },
		},
		{
			"owner and labels of the ServiceAccount", account,
			func() { account.OwnerReferences, account.Labels = nil, nil },
			func() bool {
				return len(account.OwnerReferences) == 1 && account.Labels[gwv1.GatewayNameLabelKey] == gatewayName
			},
		},
		{
			"the PodDisruptionBudget", budget,
			func() { budget.Spec.MaxUnavailable = new(intstr.FromString("100%")) },
			func() bool { return budget.Spec.MaxUnavailable.IntValue() == 1 },
		},
		{
			"the HorizontalPodAutoscaler", scaler,
			func() { scaler.Spec.MaxReplicas = 9 },
			func() bool { return scaler.Spec.MaxReplicas == 3 },
		},
		{"the image of the Deployment", deployment, func() { container().Image = image }, func() bool { return container().Image != image }},
	}
}

// ofFleet is where the objects of the fleet are.
func (w *fixture) ofFleet() client.ObjectKey {
	return client.ObjectKey{Namespace: w.Namespace, Name: gatewayName + "-" + live.GatewayClass}
}

// deleteOfFleet deletes an object of the fleet, and returns how long it took until there was another.
func (w *fixture) deleteOfFleet(t *testing.T, object client.Object) time.Duration {
	t.Helper()
	if err := w.Get(t.Context(), w.ofFleet(), object); err != nil {
		t.Fatalf("get %T: %v", object, err)
	}
	before := object.GetUID()
	if err := w.Delete(t.Context(), object, client.PropagationPolicy("Background")); err != nil {
		t.Fatalf("delete %T: %v", object, err)
	}
	start := clock.Now()
	live.Eventually(t, 2*restoreLimit, 50*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, w.ofFleet(), object); err != nil {
			return err
		}
		if object.GetUID() == before || object.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%T is the one that was deleted", object)
		}
		return nil
	})
	return clock.Since(start)
}

// editOfFleet changes an object of the fleet, and returns how long it took until it was as before.
func (w *fixture) editOfFleet(t *testing.T, m meddling) time.Duration {
	t.Helper()
	if err := w.Get(t.Context(), w.ofFleet(), m.object); err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	before, ok := m.object.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%s: %T is no object", m.name, m.object)
	}
	m.edit()
	if err := w.Patch(t.Context(), m.object, client.MergeFrom(before), client.FieldOwner("other")); err != nil {
		t.Fatalf("change %s: %v", m.name, err)
	}
	start := clock.Now()
	live.Eventually(t, 2*restoreLimit, 50*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, w.ofFleet(), m.object); err != nil {
			return err
		}
		if !m.right() {
			return fmt.Errorf("%s is not restored", m.name)
		}
		return nil
	})
	return clock.Since(start)
}
