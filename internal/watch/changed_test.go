package watch

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// edit is an update of an object of one kind, and whether it counts.
type edit struct {
	name    string
	kind    store.Kind
	edit    func(client.Object)
	changed bool
}

// to makes an edit of one type usable for the table.
func to[T client.Object](fn func(T)) func(client.Object) {
	return func(o client.Object) {
		if object, ok := o.(T); ok {
			fn(object)
		}
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	cases := []edit{
		{"a new generation of a Gateway counts", store.Gateway, func(o client.Object) { o.SetGeneration(2) }, true},
		{"a label of an HTTPRoute counts", store.HTTPRoute, func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) }, true},
		{"an annotation of a GRPCRoute counts", store.GRPCRoute, func(o client.Object) { o.SetAnnotations(map[string]string{"a": "b"}) }, true},
		{"the end of a Gateway counts", store.Gateway, func(o client.Object) { o.SetDeletionTimestamp(new(metav1.Unix(1, 0))) }, true},
		{"the status of a GatewayClass does not count", store.GatewayClass, to(func(c *gwv1.GatewayClass) {
			c.Status.Conditions = []metav1.Condition{{Type: "Accepted"}}
		}), false},
		{"the resource version of a ReferenceGrant does not count", store.ReferenceGrant, func(o client.Object) { o.SetResourceVersion("9") }, false},

		{"a label of a Namespace counts", store.Namespace, func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) }, true},
		{"the phase of a Namespace does not count", store.Namespace, to(func(n *corev1.Namespace) { n.Status.Phase = corev1.NamespaceTerminating }), false},

		{"a port of a Service counts", store.Service, to(func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 80}} }), true},
		{"an address of a Service counts", store.Service, to(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		}), true},
		{"a condition of a Service does not count", store.Service, to(func(s *corev1.Service) {
			s.Status.Conditions = []metav1.Condition{{Type: "Healthy"}}
		}), false},
		{"an empty list of a Service is as good as none", store.Service, to(func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{} }), false},

		{"the data of a Secret counts", store.Secret, to(func(s *corev1.Secret) { s.Data = map[string][]byte{"tls.crt": {1}} }), true},
		{"a label of a Secret does not count", store.Secret, func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) }, false},

		{"an address of an EndpointSlice counts", store.EndpointSlice, to(func(s *discoveryv1.EndpointSlice) {
			s.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}
		}), true},
		{"a port of an EndpointSlice counts", store.EndpointSlice, to(func(s *discoveryv1.EndpointSlice) {
			s.Ports = []discoveryv1.EndpointPort{{Port: new(int32(80))}}
		}), true},
		{"the Service of an EndpointSlice counts", store.EndpointSlice, func(o client.Object) {
			o.SetLabels(map[string]string{discoveryv1.LabelServiceName: "other"})
		}, true},
		{"the generation of an EndpointSlice does not count", store.EndpointSlice, func(o client.Object) { o.SetGeneration(2) }, false},
		{"the trigger time of an EndpointSlice does not count", store.EndpointSlice, func(o client.Object) {
			o.SetAnnotations(map[string]string{corev1.EndpointsLastChangeTriggerTime: time.Unix(0, 0).String()})
		}, false},

		{"a new generation of a Deployment counts", store.Deployment, func(o client.Object) { o.SetGeneration(2) }, true},
		{"available replicas of a Deployment count", store.Deployment, to(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }), true},
		{"what keeps replicas of a Deployment from running counts", store.Deployment, to(func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "quota"}}
		}), true},
		{"other conditions of a Deployment do not count", store.Deployment, to(func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing}}
		}), false},
	}
	for _, kind := range Kinds {
		cases = append(cases,
			edit{"an object that was made again counts: " + string(kind.Name), kind.Name, func(o client.Object) { o.SetUID("another") }, true},
			edit{"the same object again does not count: " + string(kind.Name), kind.Name, func(client.Object) {}, false})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kind := kindNamed(t, c.kind)
			after := clone(t, kind.Object)
			c.edit(after)
			if got := kind.Changed(kind.Object, after); got != c.changed {
				t.Errorf("changed: %t, want %t", got, c.changed)
			}
		})
	}
}

func kindNamed(t *testing.T, name store.Kind) Kind {
	t.Helper()
	for _, kind := range Kinds {
		if kind.Name == name {
			return kind
		}
	}
	t.Fatalf("%s is not watched", name)
	return Kind{}
}

func clone(t *testing.T, object client.Object) client.Object {
	t.Helper()
	copied, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is no object", object)
	}
	return copied
}
