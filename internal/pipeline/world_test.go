package pipeline

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
)

// world makes random objects from small pools of names, so that references meet, miss and conflict all the time.
type world struct{ *rand.Rand }

var (
	namespaces = []string{"infra", "app", "web"}
	protocols  = []gwv1.ProtocolType{
		gwv1.HTTPProtocolType, gwv1.HTTPProtocolType, gwv1.HTTPSProtocolType, gwv1.TLSProtocolType, gwv1.TLSProtocolType,
		gwv1.TCPProtocolType, gwv1.UDPProtocolType,
	}
	hostnames = []gwv1.Hostname{"a.example.com", "b.example.com", "*.example.com", "*.b.example.com", "other.org", "*.org"}
	paths     = []string{"/", "/a", "/a/b", "/a/b/c", "/z", "[0-9]+", "(", "/a/"}
)

// makers has a way to make an object of each kind.
var makers = []struct {
	kind store.Kind
	make func(w world) metav1.Object
}{
	{store.GatewayClass, world.class},
	{store.Gateway, world.gateway},
	{store.ListenerSet, world.listenerSet},
	{store.HTTPRoute, world.httpRoute},
	{store.GRPCRoute, world.grpcRoute},
	{store.TLSRoute, world.tlsRoute},
	{store.TCPRoute, world.tcpRoute},
	{store.UDPRoute, world.udpRoute},
	{store.ReferenceGrant, world.grant},
	{store.Namespace, world.namespace},
	{store.Service, world.service},
	{store.Secret, world.secret},
	{store.BackendTLSPolicy, world.backendTLSPolicy},
	{store.ConfigMap, world.configMap},
	{store.ClusterTrustBundle, world.clusterTrustBundle},
	{store.EndpointSlice, world.slice},
	{store.Deployment, world.deployment},
	{store.CustomResourceDefinition, world.definition},
	{store.XBackendTrafficPolicy, world.backendTrafficPolicy},
}

// change makes an object come, change or go.
func (w world) change() store.Change {
	m := makers[w.IntN(len(makers))]
	object := m.make(w)
	c := store.Change{Kind: m.kind, Key: store.KeyOf(object), Object: object}
	if w.IntN(4) == 0 {
		c.Object = nil
	}
	return c
}

func pick[T any](w world, list ...T) T { return list[w.IntN(len(list))] }

func (w world) coin() bool { return w.IntN(2) == 0 }

func (w world) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name), Generation: int64(w.IntN(3)),
		CreationTimestamp: metav1.NewTime(time.Unix(int64(1000+w.IntN(3)), 0)),
	}
}

func (w world) class() metav1.Object {
	return &gwv1.GatewayClass{
		ObjectMeta: w.meta("", pick(w, "ours", "theirs")),
		Spec:       gwv1.GatewayClassSpec{ControllerName: pick(w, gateway.ControllerName, gateway.ControllerName, "example.com/other")},
	}
}

func (w world) gateway() metav1.Object {
	gw := &gwv1.Gateway{
		ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "one", "two")),
		Spec:       gwv1.GatewaySpec{GatewayClassName: pick[gwv1.ObjectName](w, "ours", "ours", "theirs")},
	}
	for i := range 1 + w.IntN(4) {
		gw.Spec.Listeners = append(gw.Spec.Listeners, w.listener(i))
	}
	if w.IntN(4) > 0 {
		gw.Spec.AllowedListeners = &gwv1.AllowedListeners{Namespaces: &gwv1.ListenerNamespaces{
			From:     new(pick(w, gwv1.NamespacesFromAll, gwv1.NamespacesFromSame, gwv1.NamespacesFromSelector, gwv1.NamespacesFromNone)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}},
		}}
	}
	if w.IntN(3) == 0 {
		gw.Spec.TLS = &gwv1.GatewayTLSConfig{Frontend: &gwv1.FrontendTLSConfig{
			Default: w.clients(), PerPort: []gwv1.TLSPortConfig{{Port: 443, TLS: w.clients()}},
		}}
	}
	if w.IntN(3) == 0 {
		tls := cmp.Or(gw.Spec.TLS, &gwv1.GatewayTLSConfig{})
		tls.Backend = &gwv1.GatewayBackendTLS{ClientCertificateRef: &gwv1.SecretObjectReference{Name: pick[gwv1.ObjectName](w, "cert", "other")}}
		gw.Spec.TLS = tls
	}
	if w.coin() {
		gw.Spec.Addresses = []gwv1.GatewaySpecAddress{{
			Value:       pick(w, "", "198.18.200.1", "192.0.2.1", "nonsense"),
			Routability: pick(w, gwv1.GatewayAddressRoutabilityDefault, gwv1.GatewayAddressRoutabilityCluster),
		}}
	}
	return gw
}

func (w world) listenerSet() metav1.Object {
	set := &gwv1.ListenerSet{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "one", "more"))}
	set.Spec.ParentRef.Name = pick[gwv1.ObjectName](w, "one", "one", "two")
	if w.coin() {
		set.Spec.ParentRef.Namespace = new(gwv1.Namespace(pick(w, namespaces...)))
	}
	if w.IntN(8) == 0 {
		set.Spec.ParentRef.Kind = new(gwv1.Kind("Other"))
	}
	for i := range 1 + w.IntN(3) {
		set.Spec.Listeners = append(set.Spec.Listeners, gwv1.ListenerEntry(w.listener(i)))
	}
	return set
}

func (w world) listener(i int) gwv1.Listener {
	l := gwv1.Listener{
		Name: gwv1.SectionName(fmt.Sprintf("l%d", i)), Port: pick[int32](w, 80, 443, 8080),
		Protocol: pick(w, protocols...),
	}
	if w.coin() {
		l.Hostname = new(pick(w, hostnames...))
	}
	if l.Protocol == gwv1.HTTPSProtocolType || l.Protocol == gwv1.TLSProtocolType {
		ref := gwv1.SecretObjectReference{Name: pick[gwv1.ObjectName](w, "cert", "other")}
		if w.coin() {
			ref.Namespace = new(gwv1.Namespace(pick(w, namespaces...)))
		}
		l.TLS = &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{ref}}
	}
	if l.Protocol == gwv1.TLSProtocolType {
		l.TLS.Mode = new(pick(w, gwv1.TLSModeTerminate, gwv1.TLSModePassthrough))
	}
	l.AllowedRoutes = &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{
		From:     new(pick(w, gwv1.NamespacesFromAll, gwv1.NamespacesFromSame, gwv1.NamespacesFromSelector)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}},
	}}
	return l
}

func (w world) clients() gwv1.TLSConfig {
	if w.IntN(3) == 0 {
		return gwv1.TLSConfig{}
	}
	validation := &gwv1.FrontendTLSValidation{Mode: pick(w, gwv1.AllowValidOnly, gwv1.AllowInsecureFallback)}
	for range 1 + w.IntN(2) {
		ref := gwv1.ObjectReference{Kind: pick[gwv1.Kind](w, "ConfigMap", "ConfigMap", "Service"), Name: pick[gwv1.ObjectName](w, "ca", "other")}
		switch w.IntN(4) {
		case 0:
			ref = gwv1.ObjectReference{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle", Name: pick[gwv1.ObjectName](w, "ca", "other")}
		case 1:
			ref.Namespace = new(gwv1.Namespace(pick(w, namespaces...)))
		}
		validation.CACertificateRefs = append(validation.CACertificateRefs, ref)
	}
	return gwv1.TLSConfig{Validation: validation}
}

func (w world) common() gwv1.CommonRouteSpec {
	var spec gwv1.CommonRouteSpec
	for range 1 + w.IntN(2) {
		ref := gwv1.ParentReference{Name: pick[gwv1.ObjectName](w, "one", "two"), Namespace: new(gwv1.Namespace(pick(w, namespaces...)))}
		if w.IntN(3) == 0 {
			ref.Kind, ref.Name = new(gwv1.Kind("ListenerSet")), pick[gwv1.ObjectName](w, "one", "more")
		}
		if w.IntN(3) == 0 {
			ref.SectionName = new(pick[gwv1.SectionName](w, "l0", "l1", "l2"))
		}
		spec.ParentRefs = append(spec.ParentRefs, ref)
	}
	return spec
}

func (w world) hostnames() []gwv1.Hostname {
	var list []gwv1.Hostname
	for range w.IntN(3) {
		list = append(list, pick(w, hostnames...))
	}
	return list
}

func (w world) backend() gwv1.BackendRef {
	ref := gwv1.BackendRef{Weight: new(w.Int32N(3))}
	ref.Name, ref.Port = pick[gwv1.ObjectName](w, "s1", "s2"), new(pick[int32](w, 80, 81))
	if w.coin() {
		ref.Namespace = new(gwv1.Namespace(pick(w, namespaces...)))
	}
	return ref
}

func (w world) httpRoute() metav1.Object {
	r := &gwv1.HTTPRoute{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "r1", "r2", "r3"))}
	r.Spec.CommonRouteSpec, r.Spec.Hostnames = w.common(), w.hostnames()
	for range 1 + w.IntN(3) {
		var rule gwv1.HTTPRouteRule
		for range w.IntN(3) {
			m := gwv1.HTTPRouteMatch{Path: &gwv1.HTTPPathMatch{
				Type:  new(pick(w, gwv1.PathMatchExact, gwv1.PathMatchPathPrefix, gwv1.PathMatchRegularExpression)),
				Value: new(pick(w, paths...)),
			}}
			if w.coin() {
				m.Headers = []gwv1.HTTPHeaderMatch{{Name: "X-A", Value: pick(w, "1", "2")}}
			}
			rule.Matches = append(rule.Matches, m)
		}
		switch w.IntN(6) {
		case 0:
			rule.Filters = []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterRequestRedirect, RequestRedirect: &gwv1.HTTPRequestRedirectFilter{
				Hostname: new(gwv1.PreciseHostname("to.example.com")),
			}}}
		case 1:
			rule.Filters = []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterCORS}}
		default:
			for range w.IntN(3) {
				rule.BackendRefs = append(rule.BackendRefs, gwv1.HTTPBackendRef{BackendRef: w.backend(), Filters: w.backendFilters()})
			}
			w.extend(&rule)
		}
		w.more(&rule)
		r.Spec.Rules = append(r.Spec.Rules, rule)
	}
	return r
}

// extend adds what only some rules have.
func (w world) extend(rule *gwv1.HTTPRouteRule) {
	if w.IntN(4) == 0 {
		rule.Filters = append(rule.Filters, gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterCORS, CORS: &gwv1.HTTPCORSFilter{
			AllowOrigins:     []gwv1.CORSOrigin{pick[gwv1.CORSOrigin](w, "*", "https://*.example.com", "http://a.example.com:8080")},
			AllowCredentials: new(w.coin()),
			ExposeHeaders:    []gwv1.HTTPHeaderName{"*"},
		}})
	}
	if w.IntN(4) == 0 {
		rule.Retry = &gwv1.HTTPRouteRetry{
			Attempts: pick(w, nil, new(w.IntN(3))), Codes: []gwv1.HTTPRouteRetryStatusCode{503, 500},
			Backoff: pick(w, nil, new(pick[gwv1.Duration](w, "100ms", "soon"))),
		}
	}
	if w.IntN(4) == 0 {
		rule.Timeouts = &gwv1.HTTPRouteTimeouts{Request: new(pick[gwv1.Duration](w, "1s", "0s", "soon")), BackendRequest: pick(w, nil, new(gwv1.Duration("500ms")))}
	}
}

func (w world) backendFilters() []gwv1.HTTPRouteFilter {
	if w.IntN(3) > 0 {
		return nil
	}
	rewrite := &gwv1.HTTPURLRewriteFilter{Hostname: pick(w, nil, new(gwv1.PreciseHostname("to.example.com")))}
	if w.coin() {
		rewrite.Path = &gwv1.HTTPPathModifier{Type: gwv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: new(pick(w, "/x", "/"))}
	}
	return []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterURLRewrite, URLRewrite: rewrite}}
}

func (w world) grpcRoute() metav1.Object {
	r := &gwv1.GRPCRoute{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "g1", "r1"))}
	r.Spec.CommonRouteSpec, r.Spec.Hostnames = w.common(), w.hostnames()
	rule := gwv1.GRPCRouteRule{BackendRefs: []gwv1.GRPCBackendRef{{BackendRef: w.backend()}}}
	if w.coin() {
		rule.Matches = []gwv1.GRPCRouteMatch{{Method: &gwv1.GRPCMethodMatch{Service: new("pkg.Service"), Method: new(pick(w, "Get", "Put"))}}}
	}
	r.Spec.Rules = append(r.Spec.Rules, rule)
	return r
}

func (w world) backends() []gwv1.BackendRef {
	var list []gwv1.BackendRef
	for range w.IntN(3) {
		list = append(list, w.backend())
	}
	return list
}

func (w world) tlsRoute() metav1.Object {
	r := &gwv1.TLSRoute{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "t1", "t2", "t3"))}
	r.Spec.CommonRouteSpec, r.Spec.Hostnames = w.common(), w.hostnames()
	r.Spec.Rules = []gwv1.TLSRouteRule{{BackendRefs: w.backends()}}
	return r
}

func (w world) tcpRoute() metav1.Object {
	r := &gwv1.TCPRoute{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "t1", "t2"))}
	r.Spec.CommonRouteSpec = w.common()
	for range 1 + w.IntN(4)/3 {
		r.Spec.Rules = append(r.Spec.Rules, gwv1.TCPRouteRule{BackendRefs: w.backends()})
	}
	return r
}

func (w world) udpRoute() metav1.Object {
	r := &gwv1.UDPRoute{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "u1", "u2"))}
	r.Spec.CommonRouteSpec = w.common()
	r.Spec.Rules = []gwv1.UDPRouteRule{{BackendRefs: w.backends()}}
	return r
}

func (w world) grant() metav1.Object {
	return &gwv1.ReferenceGrant{
		ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "g1", "g2")),
		Spec: gwv1.ReferenceGrantSpec{
			From: []gwv1.ReferenceGrantFrom{{
				Group: gwv1.GroupName, Kind: pick[gwv1.Kind](w, "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "Gateway", "ListenerSet"), Namespace: gwv1.Namespace(pick(w, namespaces...)),
			}},
			To: []gwv1.ReferenceGrantTo{{Kind: pick[gwv1.Kind](w, "Service", "Secret", "ConfigMap")}},
		},
	}
}

func (w world) namespace() metav1.Object {
	ns := &corev1.Namespace{ObjectMeta: w.meta("", pick(w, namespaces...))}
	ns.Labels = map[string]string{"team": pick(w, "x", "y")}
	return ns
}

func (w world) service() metav1.Object {
	name := pick(w, "s1", "s2", ir.FleetName("one", "ours"))
	s := &corev1.Service{ObjectMeta: w.meta(pick(w, namespaces...), name)}
	own(&s.ObjectMeta)
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	if w.coin() {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "more", Port: 81, AppProtocol: pick(w, nil, new("kubernetes.io/h2c"), new("kubernetes.io/wss"))})
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

func own(meta *metav1.ObjectMeta) {
	meta.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(meta.Namespace + "-one"), Controller: new(true)}}
}

func (w world) deployment() metav1.Object {
	d := &appsv1.Deployment{ObjectMeta: w.meta(pick(w, namespaces...), ir.FleetName("one", "ours"))}
	own(&d.ObjectMeta)
	d.Status.AvailableReplicas = w.Int32N(2)
	return d
}

func (w world) definition() metav1.Object {
	custom := pick(w, store.Customs...)
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: w.meta("", custom.Definition())}
	d.Annotations = map[string]string{consts.BundleVersionAnnotation: pick(w, "v1.7.0", "v1.6.0")}
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: pick(w, custom.Versions...), Served: w.coin()}}
	d.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	return d
}

func (w world) secret() metav1.Object {
	s := &corev1.Secret{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "cert", "other")), Type: corev1.SecretTypeTLS}
	pair := keyPairs()[w.IntN(2)]
	s.Data = map[string][]byte{corev1.TLSCertKey: pair[0], corev1.TLSPrivateKeyKey: pair[1], corev1.ServiceAccountRootCAKey: pair[0]}
	if w.IntN(4) == 0 {
		s.Data[corev1.TLSPrivateKeyKey] = []byte("nonsense")
	}
	return s
}

func (w world) configMap() metav1.Object {
	c := &corev1.ConfigMap{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "ca", "other"))}
	c.Data = map[string]string{corev1.ServiceAccountRootCAKey: pick(w, string(keyPairs()[0][0]), string(keyPairs()[1][0]), "nonsense")}
	return c
}

func (w world) clusterTrustBundle() metav1.Object {
	b := &certificatesv1.ClusterTrustBundle{ObjectMeta: w.meta("", pick(w, "ca", "other"))}
	b.Spec.TrustBundle = pick(w, string(keyPairs()[0][0]), string(keyPairs()[1][0]))
	return b
}

func (w world) slice() metav1.Object {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  w.meta(pick(w, namespaces...), pick(w, "e1", "e2", "e3")),
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{
			{Name: new(pick(w, "http", "more")), Port: new(pick[int32](w, 8080, 8081))},
			{Name: new("udp"), Port: new(int32(5353)), Protocol: new(corev1.ProtocolUDP)},
		},
	}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: pick(w, "s1", "s2")}
	for range w.IntN(4) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("198.18.16.%d", w.IntN(5))},
			Conditions: discoveryv1.EndpointConditions{Ready: new(w.coin())},
		})
	}
	return s
}

// keyPairs makes two key pairs, once.
var keyPairs = sync.OnceValue(func() [][2][]byte {
	var pairs [][2][]byte
	for i := range 2 {
		key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
		if err != nil {
			panic(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"example.com"}}
		der, err := x509.CreateCertificate(cryptorand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		keyDER, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			panic(err)
		}
		pairs = append(pairs, [2][]byte{
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		})
	}
	return pairs
})
