package endpoints_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"

	"github.com/gatewright/gatewright/internal/endpoints"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

func inferencePool(ports ...inferencev1.PortNumber) *inferencev1.InferencePool {
	p := &inferencev1.InferencePool{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "model", UID: "now"}}
	for _, number := range ports {
		p.Spec.TargetPorts = append(p.Spec.TargetPorts, inferencev1.Port{Number: number})
	}
	return p
}

// poolService was made for the pool, and its slice has one pod.
func poolService(name string, owner types.UID, address string, ports ...int32) []metav1.Object {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, Labels: map[string]string{ir.ManagedByLabel: ir.ManagedBy, ir.InferencePoolLabel: string(owner)},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: inferencev1.GroupVersion.String(), Kind: "InferencePool", Name: "model", UID: owner, Controller: new(true),
		}},
	}}
	e := slice(name, v4, in("z", address))
	e.Labels[discoveryv1.LabelServiceName] = name
	e.Ports = nil
	for _, number := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", number), Port: number})
		e.Ports = append(e.Ports, discoveryv1.EndpointPort{Name: new(fmt.Sprintf("p%d", number)), Port: &number})
	}
	return []metav1.Object{s, e}
}

func TestInferencePool(t *testing.T) {
	t.Parallel()
	made := poolService("made", "now", "10.0.0.1", 8000, 8001, 9000)
	unlabelled := poolService("a", "now", "10.0.0.9", 8000)
	unlabelled[0].SetLabels(nil)
	for _, tt := range []struct {
		name    string
		pool    *inferencev1.InferencePool
		objects []metav1.Object
		want    string
	}{
		{"every port of the pool is an endpoint", inferencePool(8001, 8000), made, "z 10.0.0.1:8000, z 10.0.0.1:8001"},
		{"a port that is not there yet is left out", inferencePool(8000, 8002), made, "z 10.0.0.1:8000"},
		{"a Service of a pool that was there before is not used", inferencePool(8000), poolService("made", "before", "10.0.0.1", 8000), ""},
		{"a Service that others own through the pool is not used", inferencePool(8000), append(unlabelled, made...), "z 10.0.0.1:8000"},
		{"without a Service there are none", inferencePool(8000), nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			objects := load(tt.objects...)
			objects.Apply(store.Change{Kind: store.InferencePool, Key: "shop/model", Object: tt.pool})
			of := endpoints.OfInferencePool(tt.pool)
			got, _ := endpoints.LoadAssignment(nil, objects, of[0])
			if len(of) != 1 || got.GetClusterName() != "InferencePool/shop/model/0" || lines(got) != tt.want {
				t.Errorf("%s is %q, want %q", got.GetClusterName(), lines(got), tt.want)
			}
		})
	}
}
