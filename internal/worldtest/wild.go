package worldtest

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
)

// Wild is a world whose values are the odd ones: every field is set to what somebody might write who knows no limits. All of it is about
// one Gateway, [WildGateway], so that most of it reaches that one's proxies.
type Wild struct{ World }

// WildGateway is the Gateway that everything in a wild world is about.
var WildGateway = ir.Name{Namespace: "infra", Name: "one"}

// Set makes all objects of a world at once. No two have the same key. What admit turns away is made anew, a few times.
func (w Wild) Set(admit func(store.Change) (store.Change, error)) []store.Change {
	var set []store.Change
	for _, m := range []struct {
		kind  store.Kind
		count int
		make  func(Wild) metav1.Object
	}{
		{store.GatewayClass, 1, Wild.class},
		{store.Gateway, 1, Wild.gateway},
		{store.ListenerSet, w.IntN(3), Wild.listenerSet},
		{store.HTTPRoute, 1 + w.few(12), Wild.httpRoute},
		{store.GRPCRoute, w.IntN(3), Wild.grpcRoute},
		{store.TLSRoute, w.IntN(3), Wild.tlsRoute},
		{store.TCPRoute, w.IntN(3), Wild.tcpRoute},
		{store.UDPRoute, w.IntN(3), Wild.udpRoute},
		{store.Service, 10, Wild.service},
		{store.XBackend, 2, Wild.xbackend},
		{store.EndpointSlice, w.IntN(4), Wild.slice},
		{store.Secret, 5, Wild.secret},
		{store.ConfigMap, 2, Wild.configMap},
		{store.ClusterTrustBundle, 1, Wild.clusterTrustBundle},
		{store.BackendTLSPolicy, w.IntN(3), Wild.backendTLSPolicy},
		{store.XBackendTrafficPolicy, w.IntN(2), Wild.backendTrafficPolicy},
		{store.XTelemetryPolicy, w.IntN(2), Wild.telemetryPolicy},
		{store.ReferenceGrant, w.IntN(4), func(w Wild) metav1.Object { return w.grant() }},
		{store.Namespace, 2, func(w Wild) metav1.Object { return w.namespace() }},
	} {
		for range m.count {
			for range attempts {
				object := m.make(w)
				if c, err := admit(store.Change{Kind: m.kind, Key: store.KeyOf(object), Object: object}); err == nil {
					set = append(set, c)
					break
				}
			}
		}
	}
	return distinct(set)
}

// attempts is how often an object is made that is turned away each time.
const attempts = 50

// distinct keeps the first object of each key.
func distinct(set []store.Change) []store.Change {
	seen := map[string]bool{}
	kept := set[:0]
	for _, c := range set {
		id := fmt.Sprintf("%s/%s", c.Kind, c.Key)
		if !seen[id] {
			seen[id] = true
			kept = append(kept, c)
		}
	}
	return kept
}

func (w Wild) class() metav1.Object {
	return &gwv1.GatewayClass{ObjectMeta: w.meta("", "ours"), Spec: gwv1.GatewayClassSpec{ControllerName: gateway.ControllerName}}
}

func (w Wild) gateway() metav1.Object {
	gw := &gwv1.Gateway{
		ObjectMeta: w.meta(WildGateway.Namespace, WildGateway.Name),
		Spec: gwv1.GatewaySpec{GatewayClassName: "ours", AllowedListeners: &gwv1.AllowedListeners{
			Namespaces: &gwv1.ListenerNamespaces{From: new(pick(w.World, gwv1.NamespacesFromAll, gwv1.NamespacesFromAll, gwv1.NamespacesFromSame))},
		}},
	}
	if w.IntN(4) > 0 {
		// Most routes find their way here.
		gw.Spec.Listeners = append(gw.Spec.Listeners, gwv1.Listener{
			Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType,
			AllowedRoutes: &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{From: new(gwv1.NamespacesFromAll)}},
		})
	}
	for i := range 1 + w.few(60) {
		gw.Spec.Listeners = append(gw.Spec.Listeners, w.listener(i))
	}
	if w.IntN(3) == 0 {
		gw.Spec.TLS = &gwv1.GatewayTLSConfig{Frontend: &gwv1.FrontendTLSConfig{
			Default: w.clients(), PerPort: []gwv1.TLSPortConfig{{Port: w.port(), TLS: w.clients()}},
		}}
	}
	if w.IntN(3) == 0 {
		if gw.Spec.TLS == nil {
			gw.Spec.TLS = &gwv1.GatewayTLSConfig{}
		}
		gw.Spec.TLS.Backend = &gwv1.GatewayBackendTLS{ClientCertificateRef: &gwv1.SecretObjectReference{Name: w.secretName()}}
	}
	return gw
}

func (w Wild) listenerSet() metav1.Object {
	set := &gwv1.ListenerSet{ObjectMeta: w.meta(pick(w.World, namespaces...), pick(w.World, "one", "more"))}
	set.Spec.ParentRef = gwv1.ParentGatewayReference{Name: gwv1.ObjectName(WildGateway.Name), Namespace: new(gwv1.Namespace(WildGateway.Namespace))}
	for i := range 1 + w.few(20) {
		set.Spec.Listeners = append(set.Spec.Listeners, gwv1.ListenerEntry(w.listener(i)))
	}
	return set
}

func (w Wild) listener(i int) gwv1.Listener {
	l := gwv1.Listener{
		Name: gwv1.SectionName(fmt.Sprintf("l%d", i)), Port: w.port(), Protocol: pick(w.World, protocols...),
		AllowedRoutes: &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{From: new(gwv1.NamespacesFromAll)}},
	}
	if w.IntN(20) == 0 {
		l.Name = gwv1.SectionName(pick(w.World, "0", "a.b-c", wildHostnames[12], wildHostnames[14]))
	}
	if w.IntN(20) == 0 {
		l.Protocol = pick[gwv1.ProtocolType](w.World, "SCTP", "example.com/http3")
	}
	if l.Protocol != gwv1.TCPProtocolType && l.Protocol != gwv1.UDPProtocolType {
		if w.IntN(3) == 0 {
			l.Hostname = new(gwv1.Hostname(w.hostname()))
		}
	}
	if w.IntN(6) == 0 {
		l.Filters = &gwv1.ListenerFilters{}
		for range 1 + w.few(16) {
			l.Filters.Requests = append(l.Filters.Requests, gwv1.ListenerFilter{Type: gwv1.ListenerFilterExternalAuth, ExternalAuth: w.externalAuth()})
		}
	}
	if l.Protocol != gwv1.HTTPSProtocolType && l.Protocol != gwv1.TLSProtocolType {
		return l
	}
	l.TLS = &gwv1.ListenerTLSConfig{Mode: new(gwv1.TLSModeTerminate)}
	for range 1 + w.few(3) {
		ref := gwv1.SecretObjectReference{Name: w.secretName()}
		if w.IntN(4) == 0 {
			ref.Namespace = new(gwv1.Namespace(pick(w.World, namespaces...)))
		}
		l.TLS.CertificateRefs = append(l.TLS.CertificateRefs, ref)
	}
	if l.Protocol == gwv1.TLSProtocolType {
		l.TLS.Mode = new(pick(w.World, gwv1.TLSModeTerminate, gwv1.TLSModePassthrough))
	}
	return l
}

func (w Wild) secretName() gwv1.ObjectName {
	return pick[gwv1.ObjectName](w.World, "cert", "other", "third")
}

// namespaced is most often where the Gateway is, so that references lead somewhere without a grant.
func (w Wild) namespaced(names ...string) metav1.ObjectMeta {
	namespace := WildGateway.Namespace
	if w.IntN(6) == 0 {
		namespace = pick(w.World, namespaces...)
	}
	return w.meta(namespace, pick(w.World, names...))
}
