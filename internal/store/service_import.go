package store

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/internal/ir"
)

// ServiceOf is the Service that a backend is, or that its ServiceImport is read as. It is false for a backend of another kind.
func (o *Objects) ServiceOf(v *View, of ir.BackendTarget) (*corev1.Service, bool) {
	switch of.Kind {
	case ir.KindService:
		return o.Services.Get(v, of.Object.String())
	case ir.KindServiceImport:
		imported, ok := o.ServiceImports.Get(v, of.Object.String())
		if !ok {
			return nil, false
		}
		return ImportedService(imported), true
	default:
		return nil, false
	}
}

// ImportedService reads a ServiceImport as a Service: its ports, its IP families and its age. It says of which kind it is. An import says
// where requests go in one cluster, and its endpoints are in several, so internalTrafficPolicy and trafficDistribution are left out. The
// definition lets it have numbers that are no ports, and a port twice. The first counts.
func ImportedService(i *mcsv1beta1.ServiceImport) *corev1.Service {
	s := &corev1.Service{
		TypeMeta: metav1.TypeMeta{Kind: string(ServiceImport)},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: i.Namespace, Name: i.Name, UID: i.UID, Labels: i.Labels, CreationTimestamp: i.CreationTimestamp,
		},
		Spec: corev1.ServiceSpec{IPFamilies: i.Spec.IPFamilies},
	}
	for _, p := range i.Spec.Ports {
		protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
		again := slices.ContainsFunc(s.Spec.Ports, func(o corev1.ServicePort) bool { return o.Port == p.Port && o.Protocol == protocol })
		if p.Port < 1 || p.Port > math.MaxUint16 || again {
			continue
		}
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: p.Name, Port: p.Port, Protocol: protocol, AppProtocol: p.AppProtocol})
	}
	return s
}

// TargetOf is what a Service is as a backend, or the ServiceImport that was read as one.
func TargetOf(s *corev1.Service) ir.BackendTarget {
	t := ir.BackendTarget{Object: ir.Name{Namespace: s.Namespace, Name: s.Name}}
	if s.Kind == string(ServiceImport) {
		t.Kind = ir.KindServiceImport
	}
	return t
}

// sliceImport finds the ServiceImport of a slice, which is in the same namespace.
func sliceImport(_ string, s *discoveryv1.EndpointSlice) []string {
	name := s.Labels[mcsv1beta1.LabelServiceName]
	if name == "" {
		return nil
	}
	return []string{Key(s.Namespace, name)}
}
