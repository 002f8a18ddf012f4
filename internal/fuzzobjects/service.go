package fuzzobjects

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	"sigs.k8s.io/gateway-api/pkg/consts"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

func (w Generator) grant() metav1.Object {
	return &gwv1.ReferenceGrant{
		ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "g1", "g2")),
		Spec: gwv1.ReferenceGrantSpec{
			From: []gwv1.ReferenceGrantFrom{{
				Group: pick[gwv1.Group](w, gwv1.GroupName, gwv1.GroupName, gwv1.GroupName, gwxv1alpha1.GroupName, v1alpha1.GroupName),
				Kind: pick[gwv1.Kind](
					w, "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "Gateway", "ListenerSet", "XBackend", "ProxyConfig",
				),
				Namespace: gwv1.Namespace(pick(w, namespaces...)),
			}},
			To: []gwv1.ReferenceGrantTo{pick(
				w, gwv1.ReferenceGrantTo{Kind: "Service"}, gwv1.ReferenceGrantTo{Kind: "Secret"}, gwv1.ReferenceGrantTo{Kind: "ConfigMap"},
				gwv1.ReferenceGrantTo{Group: mcsv1beta1.GroupName, Kind: "ServiceImport"},
			)},
		},
	}
}

func (w Generator) namespace() metav1.Object {
	ns := &corev1.Namespace{ObjectMeta: w.meta("", pick(w, namespaces...))}
	ns.Labels = map[string]string{"team": pick(w, "x", "y")}
	return ns
}

func (w Generator) service() metav1.Object {
	if w.IntN(6) == 0 {
		return w.sharedService()
	}
	name := pick(w, "s1", "s2", ir.FleetName("one", "ours"), "made", "made-too")
	s := &corev1.Service{ObjectMeta: w.meta(pick(w, namespaces...), name)}
	own(&s.ObjectMeta)
	if strings.HasPrefix(name, "made") {
		if w.coin() {
			w.madeForPool(s)
		} else {
			w.made(s)
		}
		return s
	}
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	if w.coin() {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "more", Port: 81, AppProtocol: pick(
			w, nil, new("kubernetes.io/h2c"), new("kubernetes.io/wss"),
		)})
	}
	if w.coin() {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "udp", Port: pick[int32](w, 80, 81), Protocol: corev1.ProtocolUDP})
	}
	if w.coin() {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.200.1"}}
		s.Spec.ClusterIPs = []string{"192.0.2.1"}
	}
	return s
}

// made is a Service that was made for an XBackend, or for one that was there before.
func (w Generator) made(s *corev1.Service) {
	backend := pick(w, "x1", "x2")
	s.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: gwxv1alpha1.GroupVersion.String(), Kind: "XBackend", Name: backend, Controller: new(true),
		UID: types.UID(pick(w, s.Namespace+"-"+backend, s.Namespace+"-"+backend, "before")),
	}}
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: pick[int32](w, 80, 81)}}
}

// System is the namespace that Gatewright runs in.
const System = "infra"

// sharedService is one that leads to proxies which Gateways share, perhaps to a socket that another one leads to as well.
func (w Generator) sharedService() *corev1.Service {
	gateway := ir.Name{Namespace: pick(w, namespaces...), Name: pick(w, "one", "two")}
	name := ir.SystemFleetName(gateway, "ours")
	if gateway.Namespace == System {
		name = ir.FleetName(gateway.Name, "ours")
	}
	s := &corev1.Service{ObjectMeta: w.meta(System, name)}
	if gateway.Namespace == System {
		s.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(gateway.Namespace + "-" + gateway.Name), Controller: new(true)}}
	}
	s.Labels = map[string]string{ir.OwnerLabel: gateway.Namespace + "-" + gateway.Name}
	s.Spec.Selector = map[string]string{ir.InstanceLabel: pick(w, ir.SharedFleetName("ours"), ir.SharedFleetName("ours"), "another")}
	for _, port := range []int32{80, 443} {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprintf("p%d", port), Port: port, TargetPort: intstr.FromInt32(pick[int32](w, 20000, 20001, port)),
		})
	}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.200.1"}}
	return s
}

func own(meta *metav1.ObjectMeta) {
	meta.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(meta.Namespace + "-one"), Controller: new(true)}}
}

func (w Generator) deployment() metav1.Object {
	d := &appsv1.Deployment{ObjectMeta: w.meta(pick(w, namespaces...), ir.FleetName("one", "ours"))}
	own(&d.ObjectMeta)
	if w.IntN(3) == 0 {
		d.ObjectMeta = w.meta(System, ir.SharedFleetName("ours"))
		d.Labels = map[string]string{ir.OwnerLabel: "-ours"}
	}
	d.Status.AvailableReplicas = w.Int32N(2)
	return d
}

func (w Generator) definition() metav1.Object {
	custom := pick(w, slices.DeleteFunc(slices.Clone(store.CRDKinds), func(d *store.Descriptor) bool { return !d.OfGatewayAPI() })...)
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: w.meta("", custom.Definition())}
	d.Annotations = map[string]string{consts.BundleVersionAnnotation: pick(w, "v1.7.0", "v1.6.0")}
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: pick(w, custom.Versions...), Served: w.coin()}}
	d.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
	}}
	return d
}

func (w Generator) slice() metav1.Object {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  w.meta(pick(w, namespaces...), pick(w, "e1", "e2", "e3")),
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{
			{Name: new(pick(w, "http", "more")), Port: new(pick[int32](w, 8080, 8081))},
			{Name: new("udp"), Port: new(int32(5353)), Protocol: new(corev1.ProtocolUDP)},
		},
	}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: pick(w, "s1", "s2", "made", "made-too")}
	if w.IntN(3) == 0 {
		s.Labels = w.imported()
	}
	for range w.IntN(4) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("198.18.16.%d", w.IntN(5))},
			Conditions: discoveryv1.EndpointConditions{Ready: new(w.coin())},
		})
	}
	return s
}
