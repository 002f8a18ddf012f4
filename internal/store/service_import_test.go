package store

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestImportedService(t *testing.T) {
	t.Parallel()
	i := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}}
	i.Spec.Ports = []mcsv1beta1.ServicePort{
		{Name: "web", Port: 80},
		{Name: "dns", Port: 80, Protocol: corev1.ProtocolUDP},
		{Name: "again", Port: 80, Protocol: corev1.ProtocolTCP},
		{Name: "none", Port: 0},
		{Name: "negative", Port: -1},
		{Name: "large", Port: 65536},
		{Name: "last", Port: 65535},
	}
	s := ImportedService(i)
	var names []string
	for _, p := range s.Spec.Ports {
		names = append(names, p.Name)
	}
	if want := []string{"web", "dns", "last"}; !slices.Equal(names, want) {
		t.Errorf("the ports are %v, want %v", names, want)
	}
	if got := TargetOf(s).String(); got != "ServiceImport/shop/cart" {
		t.Errorf("it is %s", got)
	}
	if got := TargetOf(&corev1.Service{ObjectMeta: i.ObjectMeta}).String(); got != "shop/cart" {
		t.Errorf("a Service is %s", got)
	}
}

func TestServiceOf(t *testing.T) {
	t.Parallel()
	o := NewObjects(New())
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "cart"}
	o.Apply(Change{Kind: Service, Key: "shop/cart", Object: &corev1.Service{ObjectMeta: meta}})
	for _, kind := range []ir.BackendKind{
		ir.KindService, ir.KindXBackend, ir.KindBackend, ir.KindInferencePool, ir.KindServiceImport, ir.KindFailover,
	} {
		_, ok := o.ServiceOf(nil, ir.BackendTarget{Kind: kind, Object: ir.Name{Namespace: "shop", Name: "cart"}})
		if ok != (kind == ir.KindService) {
			t.Errorf("%s: %t", kind, ok)
		}
	}
}
