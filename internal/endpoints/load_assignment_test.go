package endpoints_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/internal/endpoints"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

var cart = ir.Endpoints{Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 80}

func service(change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
			{Name: "dns", Port: 80, Protocol: corev1.ProtocolUDP},
			{Name: "web", Port: 80, Protocol: corev1.ProtocolTCP},
			{Name: "admin", Port: 9000},
		}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func slice(name string, family discoveryv1.AddressType, all ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "cart"},
		},
		AddressType: family,
		Endpoints:   all,
		Ports: []discoveryv1.EndpointPort{
			{Name: new("dns"), Port: new(int32(5353)), Protocol: new(corev1.ProtocolUDP)},
			{Name: new("web"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)},
			{Name: new("admin"), Port: new(int32(9001))},
		},
	}
}

func at(address string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{address}}
}

func in(zone, address string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{address}, Zone: &zone}
}

func unready(e discoveryv1.Endpoint, serving, terminating bool) discoveryv1.Endpoint {
	e.Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: &serving, Terminating: &terminating}
	return e
}

// load brings objects into tables as the watch does.
func load(objects ...metav1.Object) *store.Objects {
	o := store.NewObjects(store.New())
	for _, object := range objects {
		kind := store.EndpointSlice
		switch object.(type) {
		case *corev1.Service:
			kind = store.Service
		case *gwxv1alpha1.XBackend:
			kind = store.XBackend
		case *mcsv1beta1.ServiceImport:
			kind = store.ServiceImport
		}
		o.Apply(store.Change{Kind: kind, Key: store.KeyOf(object), Object: object})
	}
	return o
}

// lines writes an assignment as `zone address:port`, in its order.
func lines(a *endpointv3.ClusterLoadAssignment) string {
	var out []string
	for _, group := range a.GetEndpoints() {
		for _, e := range group.GetLbEndpoints() {
			socket := e.GetEndpoint().GetAddress().GetSocketAddress()
			line := fmt.Sprintf("%s %s:%d", group.GetLocality().GetZone(), socket.GetAddress(), socket.GetPortValue())
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, ", ")
}

const (
	v4   = discoveryv1.AddressTypeIPv4
	v6   = discoveryv1.AddressTypeIPv6
	fqdn = discoveryv1.AddressTypeFQDN
)

// assignment is a test of what serves `shop/cart/80`.
type assignment struct {
	name    string
	objects []metav1.Object
	want    string
}

func (tt assignment) run(t *testing.T) {
	t.Helper()
	t.Run(tt.name, func(t *testing.T) {
		t.Parallel()
		got, _ := endpoints.LoadAssignment(nil, load(tt.objects...), cart)
		if err := got.ValidateAll(); err != nil {
			t.Error(err)
		}
		if got.GetClusterName() != "shop/cart/80" || lines(got) != tt.want {
			t.Errorf("%s is %q, want %q", got.GetClusterName(), lines(got), tt.want)
		}
		slices.Reverse(tt.objects)
		if again, _ := endpoints.LoadAssignment(nil, load(tt.objects...), cart); !proto.Equal(got, again) {
			t.Error("the order of objects made a difference")
		}
	})
}

func TestPorts(t *testing.T) {
	t.Parallel()
	ports := func(s *discoveryv1.EndpointSlice, ports ...discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
		s.Ports = ports
		return s
	}
	oneUnnamedPort := func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 80}} }
	onlyAdmin := func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[2:] }
	headless := func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }
	external := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }
	one, two := slice("a", v4, at("10.0.0.1")), slice("b", v4, at("10.0.0.2"))
	unnamed := discoveryv1.EndpointPort{Port: new(int32(3000))}
	emptyName := discoveryv1.EndpointPort{Name: new(""), Port: new(int32(3000))}
	web8081 := discoveryv1.EndpointPort{Name: new("web"), Port: new(int32(8081))}

	for _, tt := range []assignment{
		{"a Service that is not there has none", []metav1.Object{one}, ""},
		{"a Service without slices has none", []metav1.Object{service()}, ""},
		{"a port is found by its name, and TCP is meant", []metav1.Object{service(), one}, "10.0.0.1:8080"},
		{"a port without a name is found", []metav1.Object{
			service(oneUnnamedPort),
			ports(slice("a", v4, at("10.0.0.1")), unnamed), ports(slice("b", v4, at("10.0.0.2")), emptyName),
		}, "10.0.0.1:3000, 10.0.0.2:3000"},
		{"each slice has its own number for a port", []metav1.Object{
			service(), one, ports(slice("b", v4, at("10.0.0.2")), web8081),
		}, "10.0.0.1:8080, 10.0.0.2:8081"},
		{"a slice without the port is left out", []metav1.Object{service(), ports(slice("a", v4, at("10.0.0.1"))), two}, "10.0.0.2:8080"},
		{"a headless Service has the ports of its pods", []metav1.Object{service(headless), one}, "10.0.0.1:8080"},
		{"an ExternalName Service has none", []metav1.Object{service(external), one}, ""},
		{"a port the Service does not have has none", []metav1.Object{service(onlyAdmin), one}, ""},
	} {
		tt.run(t)
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	for _, tt := range []assignment{
		{"endpoints that say nothing are ready", []metav1.Object{service(), slice("a", v4, at("10.0.0.1"))}, "10.0.0.1:8080"},
		{"endpoints that are not ready are left out", []metav1.Object{
			service(), slice("a", v4, unready(at("10.0.0.1"), false, false), at("10.0.0.2")),
		}, "10.0.0.2:8080"},
		{"endpoints that terminate are left out while one is ready", []metav1.Object{
			service(), slice("a", v4, unready(at("10.0.0.1"), true, true)), slice("b", v4, at("10.0.0.2")),
		}, "10.0.0.2:8080"},
		{"endpoints that terminate serve when none is ready", []metav1.Object{service(), slice(
			"a", v4,
			unready(at("10.0.0.1"), true, true), unready(at("10.0.0.2"), false, true), unready(at("10.0.0.3"), true, false),
		)}, "10.0.0.1:8080"},
		{"an endpoint in two slices counts once", []metav1.Object{
			service(), slice("a", v4, at("10.0.0.1")), slice("b", v4, at("10.0.0.1"), in("z", "10.0.0.1")),
		}, "10.0.0.1:8080"},
	} {
		tt.run(t)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	dualStack := func(s *corev1.Service) {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	}
	prefersIPv6 := func(s *corev1.Service) {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	}
	for _, tt := range []assignment{
		{"names are not addresses", []metav1.Object{service(), slice("a", fqdn, at("a.example"))}, ""},
		{"IPv6 alone serves", []metav1.Object{service(), slice("a", v6, at("fd00::1"))}, "fd00::1:8080"},
		{"a dual-stack Service is reached by the family it prefers", []metav1.Object{
			service(dualStack), slice("a", v4, at("10.0.0.1")), slice("b", v6, at("fd00::1")),
		}, "10.0.0.1:8080"},
		{"a dual-stack Service is reached by the other family when need be", []metav1.Object{
			service(dualStack), slice("a", v4, unready(at("10.0.0.1"), false, false)), slice("b", v6, at("fd00::1")),
		}, "fd00::1:8080"},
		{"a pod counts once, though it is in slices of both families", []metav1.Object{
			service(), slice("a", v4, at("10.0.0.1")), slice("b", v6, at("fd00::1")),
		}, "10.0.0.1:8080"},
		{"a Service that prefers IPv6 is reached by IPv6", []metav1.Object{
			service(prefersIPv6), slice("a", v4, at("10.0.0.1")), slice("b", v6, at("fd00::1")),
		}, "fd00::1:8080"},
		{"what is ready in the other family comes before what terminates", []metav1.Object{
			service(dualStack), slice("a", v4, unready(at("10.0.0.1"), true, true)), slice("b", v6, at("fd00::1")),
		}, "fd00::1:8080"},
		{"what terminates counts once too", []metav1.Object{
			service(prefersIPv6), slice("a", v4, unready(at("10.0.0.1"), true, true)), slice("b", v6, unready(at("fd00::1"), true, true)),
		}, "fd00::1:8080"},
		{"zones are kept together and sorted", []metav1.Object{
			service(), slice("a", v4, in("z2", "10.0.0.1"), in("z1", "10.0.0.4"), at("10.0.0.9")), slice("b", v4, in("z1", "10.0.0.3")),
		}, "10.0.0.9:8080, z1 10.0.0.3:8080, z1 10.0.0.4:8080, z2 10.0.0.1:8080"},
	} {
		tt.run(t)
	}
}

func TestLoadAssignmentOfAnUnknownService(t *testing.T) {
	t.Parallel()
	got, _ := endpoints.LoadAssignment(nil, load(), ir.Endpoints{Object: ir.Name{Namespace: "shop", Name: "unknown"}, Port: 80})
	if got.GetClusterName() != "shop/unknown/80" || len(got.GetEndpoints()) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestLoadAssignmentRecordsWhatItMisses(t *testing.T) {
	t.Parallel()
	s := store.New()
	objects := store.NewObjects(s)
	changed := map[store.Ref]bool{}
	s.OnChange(func(ref store.Ref) { changed[ref] = true })

	follows := func(change metav1.Object, kind store.Kind) {
		t.Helper()
		view := store.NewView(1 << 30)
		endpoints.LoadAssignment(view, objects, cart)
		clear(changed)
		objects.Apply(store.Change{Kind: kind, Key: store.KeyOf(change), Object: change})
		seen := false
		view.Reads(func(ref store.Ref) { seen = seen || changed[ref] })
		if !seen {
			t.Errorf("%s %s was not among what was read", kind, store.KeyOf(change))
		}
	}
	follows(service(), store.Service)
	follows(slice("a", v4, at("10.0.0.1")), store.EndpointSlice)
	follows(slice("a", v4, at("10.0.0.2")), store.EndpointSlice)
}

func TestLoadAssignmentOfAUDPPortIsNotThatOfTheTCPPortOfItsNumber(t *testing.T) {
	t.Parallel()
	objects := load(service(), slice("a", v4, at("10.0.0.1")))
	for key, want := range map[string]uint32{"shop/cart/80": 8080, "shop/cart/80/udp": 5353} {
		got, _ := endpoints.LoadAssignment(nil, objects, ir.ParseEndpoints(key))
		if port := got.GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress().GetPortValue(); port != want {
			t.Errorf("%s leads to port %d, want %d", key, port, want)
		}
	}
}

func texts(all []ir.Endpoints) []string {
	var list []string
	for _, of := range all {
		list = append(list, of.String())
	}
	return list
}

func TestOfService(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		service *corev1.Service
		want    []string
	}{
		{"one for each port, UDP told from TCP", service(), []string{"shop/cart/80/udp", "shop/cart/80", "shop/cart/9000"}},
		{"none without ports", service(func(s *corev1.Service) { s.Spec.Ports = nil }), nil},
		{"none for a DNS record", service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := texts(endpoints.OfService(tt.service)); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func BenchmarkLoadAssignment(b *testing.B) {
	var all []discoveryv1.Endpoint
	for i := range 1000 {
		all = append(all, in(fmt.Sprintf("z%d", i%3), fmt.Sprintf("10.0.%d.%d", i/250, i%250)))
	}
	objects := load(service(), slice("a", v4, all...))
	b.ReportAllocs()
	for b.Loop() {
		endpoints.LoadAssignment(nil, objects, cart)
	}
}

func TestLoadAssignmentOfAnXBackend(t *testing.T) {
	t.Parallel()
	backend := func(uid types.UID) *gwxv1alpha1.XBackend {
		b := &gwxv1alpha1.XBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pods", UID: uid}}
		b.Spec.Type, b.Spec.Port.Number = gwxv1alpha1.BackendTypeEndpointSelector, 8080
		return b
	}
	made := func(uid types.UID) *corev1.Service {
		s := service(func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 8080}} })
		s.Labels = map[string]string{ir.ManagedByLabel: ir.ManagedBy, ir.XBackendLabel: string(uid)}
		s.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: gwxv1alpha1.GroupVersion.String(), Kind: "XBackend", Name: "pods", UID: uid, Controller: new(true),
		}}
		return s
	}
	pods := slice("a", v4, at("10.0.0.1"))
	pods.Ports = []discoveryv1.EndpointPort{{Port: new(int32(8080))}}
	of := endpoints.OfXBackend(backend("1"))
	if got := texts(of); !slices.Equal(got, []string{"XBackend/shop/pods/8080"}) {
		t.Errorf("keys: %v", got)
	}
	for _, c := range []struct {
		name    string
		objects []metav1.Object
		want    string
	}{
		{"the Service that was made for it has its endpoints", []metav1.Object{backend("1"), made("1"), pods}, "10.0.0.1:8080"},
		{"a Service that belongs to one of that name before has not", []metav1.Object{backend("1"), made("0"), pods}, ""},
		{"a Service that belongs to nothing has not", []metav1.Object{backend("1"), service(), pods}, ""},
		{"one that is gone has none", []metav1.Object{made("1"), pods}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assignment, _ := endpoints.LoadAssignment(nil, load(c.objects...), of[0])
			if got := lines(assignment); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
