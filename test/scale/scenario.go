package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	classresolve "github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/store"
)

// scenario is how much of everything there is. Routes have a hostname each and are spread over the Gateways, and over the Services, whose
// endpoints are in slices of up to maxSlice.
type scenario struct {
	Routes, Gateways, Services, Endpoints int
	// Together has all routes share one hostname.
	Together bool
	// Wide has the first route be without a hostname and have as many matches as there may be.
	Wide bool
}

const (
	class     = "ours"
	namespace = "apps"
	port      = 80
	maxSlice  = 100
	// widest is how many matches definitions allow a route.
	widest = 128
)

// scaled is a scenario of that many routes with the proportions of the largest one: 100,000 routes over 500 Gateways, 10,000 Services and
// 100,000 endpoints.
func scaled(routes int) scenario {
	return scenario{Routes: routes, Gateways: max(routes/200, 1), Services: max(routes/10, 1), Endpoints: routes}
}

// each calls put with every object of the scenario.
func (s scenario) each(put func(store.Change)) {
	put(change(store.GatewayClass, &gwv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: class, UID: uid("class", 0)},
		Spec:       gwv1.GatewayClassSpec{ControllerName: classresolve.ControllerName},
	}))
	for i := range s.Gateways {
		put(change(store.Gateway, &gwv1.Gateway{
			ObjectMeta: meta("gateway", i),
			Spec: gwv1.GatewaySpec{GatewayClassName: class, Listeners: []gwv1.Listener{{
				Name: "http", Port: port, Protocol: gwv1.HTTPProtocolType,
			}}},
		}))
	}
	for i := range s.Services {
		put(change(store.Service, &corev1.Service{
			ObjectMeta: meta("service", i),
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": name("service", i)}, ClusterIP: "198.18.0.1",
				Ports: []corev1.ServicePort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}},
			},
		}))
		put(s.slice(i, 0))
	}
	for i := range s.Routes {
		put(s.route(i, 0))
	}
}

// route is the i-th route, in one of its versions.
func (s scenario) route(i, version int) store.Change {
	r := &gwv1.HTTPRoute{ObjectMeta: meta("route", i)}
	r.Generation = int64(version + 1)
	r.Spec.ParentRefs = []gwv1.ParentReference{{Name: gwv1.ObjectName(name("gateway", i%s.Gateways))}}
	r.Spec.Hostnames = []gwv1.Hostname{gwv1.Hostname(host(i))}
	path := "/"
	if version > 0 {
		path = fmt.Sprintf("/version/%d", version)
	}
	if s.Together {
		r.Spec.Hostnames = []gwv1.Hostname{gwv1.Hostname(host(0))}
		path = fmt.Sprintf("/service/%d%s", i, path)
	}
	service := i % s.Services
	if i < s.Gateways {
		// The first Service is used by all Gateways.
		service = 0
	}
	ref := gwv1.HTTPBackendRef{}
	ref.Name, ref.Port = gwv1.ObjectName(name("service", service)), new(gwv1.PortNumber(port))
	paths := []string{path}
	if s.Wide && i == 0 {
		r.Spec.Hostnames, paths = nil, nil
		for n := range widest {
			paths = append(paths, fmt.Sprintf("/wide/%d/%d", n, version))
		}
	}
	rule := gwv1.HTTPRouteRule{BackendRefs: []gwv1.HTTPBackendRef{ref}}
	for _, path := range paths {
		rule.Matches = append(rule.Matches, gwv1.HTTPRouteMatch{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &path}})
	}
	r.Spec.Rules = []gwv1.HTTPRouteRule{rule}
	return change(store.HTTPRoute, r)
}

// slice is the EndpointSlice of the i-th Service, in one of its versions, which differ in the port.
func (s scenario) slice(i, version int) store.Change {
	count := min(max(s.Endpoints/s.Services, 1), maxSlice)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  meta("service", i),
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080 + version%50_000)), Protocol: new(corev1.ProtocolTCP)}},
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: name("service", i)}
	for n := range count {
		number := i*count + n
		address := fmt.Sprintf("198.18.%d.%d", number/250%250, number%250+1)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
			NodeName: new(fmt.Sprintf("node-%d", number%100)), Zone: new("zone-a"),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("pod-%d", number)},
		})
	}
	return change(store.EndpointSlice, slice)
}

// pods is the EndpointSlice of the proxies of a Gateway.
func pods(i, count int) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: meta("gateway", i), AddressType: discoveryv1.AddressTypeIPv4}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: name("gateway", i), gwv1.GatewayNameLabelKey: name("gateway", i)}
	for n := range count {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{"198.18.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod(i, n)},
		})
	}
	return slice
}

func name(kind string, i int) string { return fmt.Sprintf("%s-%d", kind, i) }

func host(i int) string { return fmt.Sprintf("host-%d.example.com", i) }

func pod(gateway, n int) string { return fmt.Sprintf("proxy-%d-%d", gateway, n) }

func uid(kind string, i int) types.UID { return types.UID(fmt.Sprintf("%s-%036d", kind, i)) }

func meta(kind string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name(kind, i), UID: uid(kind, i), ResourceVersion: fmt.Sprint(i), Generation: 1}
}

func change(kind store.Kind, object metav1.Object) store.Change {
	return store.Change{Kind: kind, Key: store.KeyOf(object), Object: object}
}
