package store

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// edit is an update of an object of one kind, and whether it counts.
type edit struct {
	name    string
	kind    Kind
	edit    func(Object)
	changed bool
}

// to makes an edit of one type usable for the table.
func to[T Object](fn func(T)) func(Object) {
	return func(o Object) {
		if object, ok := o.(T); ok {
			fn(object)
		}
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	cases := []edit{
		{"a new generation of a Gateway counts", Gateway, func(o Object) { o.SetGeneration(2) }, true},
		{"a label of an HTTPRoute counts", HTTPRoute, func(o Object) { o.SetLabels(map[string]string{"a": "b"}) }, true},
		{"an annotation of a GRPCRoute counts", GRPCRoute, func(o Object) { o.SetAnnotations(map[string]string{"a": "b"}) }, true},
		{"the end of a Gateway counts", Gateway, func(o Object) { o.SetDeletionTimestamp(new(metav1.Unix(1, 0))) }, true},
		{"the status of a GatewayClass does not count", GatewayClass, to(func(c *gwv1.GatewayClass) {
			c.Status.Conditions = []metav1.Condition{{Type: "Accepted"}}
		}), false},
		{"the resource version of a ReferenceGrant does not count", ReferenceGrant, func(o Object) { o.SetResourceVersion("9") }, false},

		{"a label of a Namespace counts", Namespace, func(o Object) { o.SetLabels(map[string]string{"a": "b"}) }, true},
		{
			"the phase of a Namespace does not count", Namespace,
			to(func(n *corev1.Namespace) { n.Status.Phase = corev1.NamespaceTerminating }), false,
		},

		{"a port of a Service counts", Service, to(func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 80}} }), true},
		{"an address of a Service counts", Service, to(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		}), true},
		{"a condition of a Service does not count", Service, to(func(s *corev1.Service) {
			s.Status.Conditions = []metav1.Condition{{Type: "Healthy"}}
		}), false},
		{"an empty list of a Service is as good as none", Service, to(func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{} }), false},

		{"the data of a Secret counts", Secret, to(func(s *corev1.Secret) { s.Data = map[string][]byte{"tls.crt": {1}} }), true},
		{"that policies may read a ConfigMap counts", ConfigMap, func(o Object) {
			o.SetLabels(map[string]string{v1alpha1.PolicyDataLabel: ""})
		}, true},
		{"a label of a Secret does not count", Secret, func(o Object) { o.SetLabels(map[string]string{"a": "b"}) }, false},

		{"an address of an EndpointSlice counts", EndpointSlice, to(func(s *discoveryv1.EndpointSlice) {
			s.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}
		}), true},
		{"a port of an EndpointSlice counts", EndpointSlice, to(func(s *discoveryv1.EndpointSlice) {
			s.Ports = []discoveryv1.EndpointPort{{Port: new(int32(80))}}
		}), true},
		{"the Service of an EndpointSlice counts", EndpointSlice, func(o Object) {
			o.SetLabels(map[string]string{discoveryv1.LabelServiceName: "other"})
		}, true},
		{"the ServiceImport of an EndpointSlice counts", EndpointSlice, func(o Object) {
			o.SetLabels(map[string]string{mcsv1beta1.LabelServiceName: "other"})
		}, true},
		{"the cluster of an EndpointSlice counts", EndpointSlice, func(o Object) {
			o.SetLabels(map[string]string{mcsv1beta1.LabelSourceCluster: "other"})
		}, true},
		{"the generation of an EndpointSlice does not count", EndpointSlice, func(o Object) { o.SetGeneration(2) }, false},
		{"the trigger time of an EndpointSlice does not count", EndpointSlice, func(o Object) {
			o.SetAnnotations(map[string]string{corev1.EndpointsLastChangeTriggerTime: time.Unix(0, 0).String()})
		}, false},

		{"a new generation of a Deployment counts", Deployment, func(o Object) { o.SetGeneration(2) }, true},
		{"available replicas of a Deployment count", Deployment, to(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }), true},
		{"what keeps replicas of a Deployment from running counts", Deployment, to(func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "quota",
			}}
		}), true},
		{"other conditions of a Deployment do not count", Deployment, to(func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing}}
		}), false},
	}
	for _, kind := range Kinds {
		cases = append(cases,
			edit{"an object that was made again counts: " + string(kind.Kind), kind.Kind, func(o Object) { o.SetUID("another") }, true},
			edit{"the same object again does not count: " + string(kind.Kind), kind.Kind, func(Object) {}, false})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kind, _ := DescriptorOf(c.kind)
			after := kind.New()
			c.edit(after)
			if got := kind.Changed(kind.Object, after); got != c.changed {
				t.Errorf("changed: %t, want %t", got, c.changed)
			}
		})
	}
}
