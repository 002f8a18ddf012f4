package simulation

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	classresolve "github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/xds"
	"github.com/gatewright/gatewright/test/simulation/model"
)

const (
	namespace = "w"
	class     = "ours"
	httpPort  = 80
	httpsPort = 443
	services  = 2
)

// gateways are the names that Gateways may have. Everything that belongs to one has its name in its own.
var gateways = []string{"one", "two"}

// groupOf is the group of a Gateway's proxies.
func groupOf(gateway int) xds.GroupID {
	return xds.GroupID{Namespace: namespace, Name: gateways[gateway]}
}

// slot is a place for a route: at most one object at a time, always with the same hostname.
type slot struct {
	gateway int
	host    gwv1.Hostname
	// asked is a host that only this route answers, if there is a route in the slot.
	asked string
}

// slots are for a route for all hosts, for hosts with a name and for hosts with a wildcard. The last ones are for another Gateway.
var slots = []slot{
	{0, "", "other.test"},
	{0, "a.example", "a.example"},
	{0, "b.example", "b.example"},
	{0, "*.example", "c.example"},
	{1, "", "other.test"},
	{1, "a.example", "a.example"},
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1}
}

func newClass() *gwv1.GatewayClass {
	return &gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{
		Name: class, UID: class, Generation: 1,
	}, Spec: gwv1.GatewayClassSpec{ControllerName: classresolve.ControllerName}}
}

func newNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, UID: namespace}}
}

func secretName(g int) string { return "cert-" + gateways[g] }

// newGateway has the listeners of a mask: 1 for HTTP, 2 for HTTPS.
func newGateway(g, listeners int) *gwv1.Gateway {
	gw := &gwv1.Gateway{ObjectMeta: meta(gateways[g])}
	gw.Spec.GatewayClassName = class
	if listeners&1 != 0 {
		gw.Spec.Listeners = []gwv1.Listener{{Name: "http", Port: httpPort, Protocol: gwv1.HTTPProtocolType}}
	}
	if listeners&2 != 0 {
		gw.Spec.Listeners = append(gw.Spec.Listeners, gwv1.Listener{
			Name: "https", Port: httpsPort, Protocol: gwv1.HTTPSProtocolType,
			TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: gwv1.ObjectName(secretName(g))}}},
		})
	}
	return gw
}

func newSecret(g, version int) *corev1.Secret {
	pair := fuzzobjects.KeyPairs()[version%2]
	return &corev1.Secret{
		ObjectMeta: meta(secretName(g)), Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: pair[0], corev1.TLSPrivateKeyKey: pair[1]},
	}
}

func serviceName(g, n int) string { return fmt.Sprintf("%s-%d", gateways[g], n) }

func newService(g, n int) *corev1.Service {
	s := &corev1.Service{ObjectMeta: meta(serviceName(g, n))}
	s.Spec.ClusterIP = "198.18.0.1"
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}
	return s
}

func newEndpoints(g, n, version int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: meta(serviceName(g, n)), AddressType: discoveryv1.AddressTypeIPv4}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: serviceName(g, n)}
	s.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080 + version%4)), Protocol: new(corev1.ProtocolTCP)}}
	s.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}}
	return s
}

// newFleet is the EndpointSlice that names the ready proxies of a Gateway.
func newFleet(g int, ready []string) *discoveryv1.EndpointSlice {
	name := ir.FleetName(gateways[g], class)
	s := &discoveryv1.EndpointSlice{ObjectMeta: meta("fleet-" + gateways[g]), AddressType: discoveryv1.AddressTypeIPv4}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: name, gwv1.GatewayNameLabelKey: gateways[g]}
	for _, pod := range ready {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{"198.18.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod},
		})
	}
	return s
}

func routeName(i int) string { return fmt.Sprintf("r%d", i) }

// newRoute is the route of a slot. Its stamp grows with every version, whatever became of the objects before; a spoiled one is refused by
// every proxy.
func newRoute(i, backend, stamp int, spoiled bool) *gwv1.HTTPRoute {
	r := &gwv1.HTTPRoute{ObjectMeta: meta(routeName(i))}
	r.Spec.ParentRefs = []gwv1.ParentReference{{Name: gwv1.ObjectName(gateways[slots[i].gateway])}}
	if slots[i].host != "" {
		r.Spec.Hostnames = []gwv1.Hostname{slots[i].host}
	}
	headers := []gwv1.HTTPHeader{{Name: model.GenerationHeader, Value: strconv.Itoa(stamp)}}
	match := gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: new("/")}
	if spoiled {
		match = gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchRegularExpression), Value: new(model.RefusedPath)}
	}
	ref := gwv1.HTTPBackendRef{}
	ref.Name, ref.Port = gwv1.ObjectName(serviceName(slots[i].gateway, backend)), new(gwv1.PortNumber(80))
	r.Spec.Rules = []gwv1.HTTPRouteRule{{
		Matches: []gwv1.HTTPRouteMatch{{Path: &match}},
		Filters: []gwv1.HTTPRouteFilter{{
			Type: gwv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: &gwv1.HTTPHeaderFilter{Set: headers},
		}},
		BackendRefs: []gwv1.HTTPBackendRef{ref},
	}}
	return r
}

func uid(name string, n int) types.UID { return types.UID(fmt.Sprintf("%s-%d", name, n)) }
