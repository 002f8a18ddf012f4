package fuzzobjects

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/store"
)

// HostileGenerator makes objects with extreme and malformed values in every field. All of them concern one Gateway, [HostileGateway], so
// that most of them reach its proxies.
type HostileGenerator struct{ Generator }

// HostileGateway is the Gateway that all objects of a [HostileGenerator] concern.
var HostileGateway = ir.Name{Namespace: "infra", Name: "one"}

// Set makes a set of objects. No two have the same key. An object that admit rejects is made again, a few times.
func (w HostileGenerator) Set(admit func(store.Change) (store.Change, error)) []store.Change {
	var set []store.Change
	for _, m := range []struct {
		kind  store.Kind
		count int
		make  func(HostileGenerator) metav1.Object
	}{
		{store.GatewayClass, 1, HostileGenerator.class},
		{store.Gateway, 1, HostileGenerator.gateway},
		{store.ProxyConfig, 1, HostileGenerator.proxyConfig},
		{store.ListenerSet, w.IntN(3), HostileGenerator.listenerSet},
		{store.HTTPRoute, 1 + w.few(12), HostileGenerator.httpRoute},
		{store.GRPCRoute, w.IntN(3), HostileGenerator.grpcRoute},
		{store.TLSRoute, w.IntN(3), HostileGenerator.tlsRoute},
		{store.TCPRoute, w.IntN(3), HostileGenerator.tcpRoute},
		{store.UDPRoute, w.IntN(3), HostileGenerator.udpRoute},
		{store.Service, 10, HostileGenerator.service},
		{store.XBackend, 2, HostileGenerator.xbackend},
		{store.InferencePool, 2, HostileGenerator.inferencePool},
		{store.ServiceImport, 2, HostileGenerator.serviceImport},
		{store.EndpointSlice, w.IntN(4), HostileGenerator.slice},
		{store.Secret, 5, HostileGenerator.secret},
		{store.ConfigMap, 2, HostileGenerator.configMap},
		{store.ClusterTrustBundle, 1, HostileGenerator.clusterTrustBundle},
		{store.BackendTLSPolicy, w.IntN(3), HostileGenerator.backendTLSPolicy},
		{store.XBackendTrafficPolicy, w.IntN(2), HostileGenerator.backendTrafficPolicy},
		{store.XTelemetryPolicy, w.IntN(2), HostileGenerator.telemetryPolicy},
		{store.ClientTrafficPolicy, w.IntN(3), HostileGenerator.clientTrafficPolicy},
		{store.HTTPRouteFilter, 3, HostileGenerator.httpRouteFilter},
		{store.Backend, 3, HostileGenerator.fixedBackend},
		{store.Extension, 2, HostileGenerator.extension},
		{store.BackendTrafficPolicy, w.IntN(5), HostileGenerator.trafficPolicy},
		{store.SecurityPolicy, w.IntN(4), HostileGenerator.securityPolicy},
		{store.ReferenceGrant, w.IntN(4), func(w HostileGenerator) metav1.Object { return w.grant() }},
		{store.Namespace, 2, func(w HostileGenerator) metav1.Object { return w.namespace() }},
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

// attempts is the number of times an object is made that is rejected each time.
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

func (w HostileGenerator) class() metav1.Object {
	return &gwv1.GatewayClass{ObjectMeta: w.meta("", "ours"), Spec: gwv1.GatewayClassSpec{ControllerName: class.ControllerName}}
}

func (w HostileGenerator) gateway() metav1.Object {
	gw := &gwv1.Gateway{
		ObjectMeta: w.meta(HostileGateway.Namespace, HostileGateway.Name),
		Spec: gwv1.GatewaySpec{GatewayClassName: "ours", AllowedListeners: &gwv1.AllowedListeners{
			Namespaces: &gwv1.ListenerNamespaces{From: new(pick(
				w.Generator, gwv1.NamespacesFromAll, gwv1.NamespacesFromAll, gwv1.NamespacesFromSame,
			))},
		}, Infrastructure: &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{
			Group: v1alpha1.GroupName, Kind: gwv1.Kind(store.ProxyConfig), Name: parametersName,
		}}},
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

func (w HostileGenerator) listenerSet() metav1.Object {
	set := &gwv1.ListenerSet{ObjectMeta: w.meta(pick(w.Generator, namespaces...), pick(w.Generator, "one", "more"))}
	set.Spec.ParentRef = gwv1.ParentGatewayReference{
		Name: gwv1.ObjectName(HostileGateway.Name), Namespace: new(gwv1.Namespace(HostileGateway.Namespace)),
	}
	for i := range 1 + w.few(20) {
		set.Spec.Listeners = append(set.Spec.Listeners, gwv1.ListenerEntry(w.listener(i)))
	}
	return set
}

func (w HostileGenerator) listener(i int) gwv1.Listener {
	l := gwv1.Listener{
		Name: gwv1.SectionName(fmt.Sprintf("l%d", i)), Port: w.port(), Protocol: pick(w.Generator, protocols...),
		AllowedRoutes: &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{From: new(gwv1.NamespacesFromAll)}},
	}
	if w.IntN(20) == 0 {
		l.Name = gwv1.SectionName(pick(w.Generator, "0", "a.b-c", hostileHostnames[12], hostileHostnames[14]))
	}
	if w.IntN(20) == 0 {
		l.Protocol = pick[gwv1.ProtocolType](w.Generator, "SCTP", "example.com/http3")
	}
	if l.Protocol != gwv1.TCPProtocolType && l.Protocol != gwv1.UDPProtocolType {
		if w.IntN(3) == 0 {
			l.Hostname = new(gwv1.Hostname(w.hostname()))
		}
	}
	if w.IntN(6) == 0 {
		l.Filters = &gwv1.ListenerFilters{}
		for range 1 + w.few(16) {
			f := gwv1.ListenerFilter{Type: gwv1.ListenerFilterExternalAuth, ExternalAuth: w.externalAuth()}
			if w.coin() {
				f = w.listenerExtension()
			}
			l.Filters.Requests = append(l.Filters.Requests, f)
		}
	}
	if l.Protocol != gwv1.HTTPSProtocolType && l.Protocol != gwv1.TLSProtocolType {
		return l
	}
	l.TLS = &gwv1.ListenerTLSConfig{Mode: new(gwv1.TLSModeTerminate)}
	for range 1 + w.few(3) {
		ref := gwv1.SecretObjectReference{Name: w.secretName()}
		if w.IntN(4) == 0 {
			ref.Namespace = new(gwv1.Namespace(pick(w.Generator, namespaces...)))
		}
		l.TLS.CertificateRefs = append(l.TLS.CertificateRefs, ref)
	}
	if l.Protocol == gwv1.TLSProtocolType {
		l.TLS.Mode = new(pick(w.Generator, gwv1.TLSModeTerminate, gwv1.TLSModePassthrough))
	}
	return l
}

func (w HostileGenerator) secretName() gwv1.ObjectName {
	return pick[gwv1.ObjectName](w.Generator, "cert", "other", "third")
}

// namespaced is most often where the Gateway is, so that references lead somewhere without a grant.
func (w HostileGenerator) namespaced(names ...string) metav1.ObjectMeta {
	namespace := HostileGateway.Namespace
	if w.IntN(6) == 0 {
		namespace = pick(w.Generator, namespaces...)
	}
	return w.meta(namespace, pick(w.Generator, names...))
}
