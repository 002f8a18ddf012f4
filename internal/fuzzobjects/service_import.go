package fuzzobjects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

func (w Generator) serviceImport() metav1.Object {
	i := &mcsv1beta1.ServiceImport{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "i1", "i2"))}
	i.Spec.Type = pick(w, mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless)
	i.Spec.Ports = []mcsv1beta1.ServicePort{{Name: "http", Port: 80}}
	if w.coin() {
		i.Spec.Ports = append(i.Spec.Ports, mcsv1beta1.ServicePort{
			Name: "more", Port: 81, AppProtocol: pick(w, nil, new("kubernetes.io/h2c"), new("kubernetes.io/wss")),
		})
	}
	if w.coin() {
		i.Spec.Ports = append(i.Spec.Ports, mcsv1beta1.ServicePort{Name: "udp", Port: pick[int32](w, 80, 81), Protocol: corev1.ProtocolUDP})
	}
	return i
}

// importRef refers to a port of a ServiceImport.
func (w Generator) importRef() gwv1.BackendObjectReference {
	return gwv1.BackendObjectReference{
		Group: new(gwv1.Group(mcsv1beta1.GroupName)), Kind: new(gwv1.Kind("ServiceImport")), Name: pick[gwv1.ObjectName](w, "i1", "i2"),
		Port: pick(w, new(gwv1.PortNumber(80)), new(gwv1.PortNumber(80)), new(gwv1.PortNumber(81)), nil),
	}
}

// imported are the labels of a slice of a ServiceImport.
func (w Generator) imported() map[string]string {
	return map[string]string{
		mcsv1beta1.LabelServiceName: pick(w, "i1", "i2"), mcsv1beta1.LabelSourceCluster: pick(w, "east", "west", ""),
	}
}

// serviceImport takes the tame one and makes its parts odd.
func (w HostileGenerator) serviceImport() metav1.Object {
	i, ok := w.Generator.serviceImport().(*mcsv1beta1.ServiceImport)
	if !ok {
		return nil
	}
	i.ObjectMeta = w.namespaced("i1", "i2")
	if w.IntN(4) == 0 {
		i.Spec.Ports[0].Port = w.port()
	}
	return i
}
