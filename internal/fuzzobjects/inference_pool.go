package fuzzobjects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	inferencexv1alpha1 "sigs.k8s.io/gateway-api-inference-extension/apix/v1alpha1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func (w Generator) inferencePool() metav1.Object {
	p := &inferencev1.InferencePool{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "p1", "p2"))}
	p.Spec.Selector.MatchLabels = map[inferencev1.LabelKey]inferencev1.LabelValue{"app": pick[inferencev1.LabelValue](w, "a", "b")}
	for _, number := range pick(w, []inferencev1.PortNumber{8000}, []inferencev1.PortNumber{8000, 8001}, []inferencev1.PortNumber{8001}) {
		p.Spec.TargetPorts = append(p.Spec.TargetPorts, inferencev1.Port{Number: number})
	}
	p.Spec.AppProtocol = pick(w, "", inferencev1.AppProtocolHTTP, inferencev1.AppProtocolH2C)
	if w.IntN(3) > 0 {
		p.Spec.EndpointPickerRef = &inferencev1.EndpointPickerRef{
			Kind: pick[inferencev1.Kind](w, "Service", "Service", "", "Other"), Name: pick[inferencev1.ObjectName](w, "s1", "s2"),
			Port:        pick(w, &inferencev1.Port{Number: 80}, &inferencev1.Port{Number: 81}, nil),
			FailureMode: pick(w, "", inferencev1.EndpointPickerFailOpen, inferencev1.EndpointPickerFailClose),
		}
	}
	return p
}

func (w Generator) inferencePoolImport() metav1.Object {
	return &inferencexv1alpha1.InferencePoolImport{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "p1", "p2"))}
}

// poolRef refers to an InferencePool, or now and then to one of another cluster.
func (w Generator) poolRef() gwv1.BackendObjectReference {
	ref := gwv1.BackendObjectReference{
		Group: new(gwv1.Group(inferencev1.GroupName)), Kind: new(gwv1.Kind("InferencePool")), Name: pick[gwv1.ObjectName](w, "p1", "p2"),
	}
	if w.IntN(6) == 0 {
		ref.Group, ref.Kind = new(gwv1.Group(inferencexv1alpha1.GroupName)), new(gwv1.Kind("InferencePoolImport"))
	}
	if w.coin() {
		ref.Port = new(gwv1.PortNumber(8000))
	}
	return ref
}

// madeForPool makes a Service one that was made for an InferencePool, or for one that was there before.
func (w Generator) madeForPool(s *corev1.Service) {
	pool := pick(w, "p1", "p2")
	s.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: inferencev1.GroupVersion.String(), Kind: "InferencePool", Name: pool, Controller: new(true),
		UID: types.UID(pick(w, s.Namespace+"-"+pool, s.Namespace+"-"+pool, "before")),
	}}
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 8000}, {Name: "more", Port: 8001}}
}

// inferencePool takes the tame one and makes its parts odd.
func (w HostileGenerator) inferencePool() metav1.Object {
	p, ok := w.Generator.inferencePool().(*inferencev1.InferencePool)
	if !ok {
		return nil
	}
	p.ObjectMeta = w.namespaced("p1", "p2")
	for i := range p.Spec.TargetPorts {
		p.Spec.TargetPorts[i].Number = inferencev1.PortNumber(w.port())
	}
	return p
}
