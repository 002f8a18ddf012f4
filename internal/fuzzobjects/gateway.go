package fuzzobjects

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/class"
)

func (w Generator) class() metav1.Object {
	return &gwv1.GatewayClass{
		ObjectMeta: w.meta("", pick(w, "ours", "theirs")),
		Spec: gwv1.GatewayClassSpec{
			ControllerName: pick(w, class.ControllerName, class.ControllerName, "example.com/other"), ParametersRef: w.classParameters(),
		},
	}
}

func (w Generator) gateway() metav1.Object {
	gw := &gwv1.Gateway{
		ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "one", "two")),
		Spec:       gwv1.GatewaySpec{GatewayClassName: pick[gwv1.ObjectName](w, "ours", "ours", "theirs"), Infrastructure: w.parameters()},
	}
	for i := range 1 + w.IntN(4) {
		gw.Spec.Listeners = append(gw.Spec.Listeners, w.listener(i))
	}
	gw.Spec.DefaultScope = pick(w, "", "", gwv1.GatewayDefaultScopeNone, gwv1.GatewayDefaultScopeAll)
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

func (w Generator) listenerSet() metav1.Object {
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

func (w Generator) listener(i int) gwv1.Listener {
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
	w.filters(&l)
	l.AllowedRoutes = &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{
		From:     new(pick(w, gwv1.NamespacesFromAll, gwv1.NamespacesFromSame, gwv1.NamespacesFromSelector)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}},
	}}
	return l
}

func (w Generator) clients() gwv1.TLSConfig {
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

// filters has some listeners ask about requests.
func (w Generator) filters(l *gwv1.Listener) {
	if w.IntN(4) > 0 {
		return
	}
	l.Filters = &gwv1.ListenerFilters{}
	for range w.IntN(3) {
		f := gwv1.ListenerFilter{Type: gwv1.ListenerFilterExternalAuth, ExternalAuth: &gwv1.HTTPExternalAuthFilter{
			ExternalAuthProtocol: pick(w, gwv1.HTTPRouteExternalAuthGRPCProtocol, gwv1.HTTPRouteExternalAuthHTTPProtocol),
			BackendRef:           w.backend().BackendObjectReference,
		}}
		switch w.IntN(8) {
		case 0:
			f = gwv1.ListenerFilter{Type: gwv1.ListenerFilterExtensionRef, ExtensionRef: &gwv1.LocalObjectReference{Kind: "Thing", Name: "t"}}
		case 1, 2, 3:
			f = w.listenerExtension()
		}
		l.Filters.Requests = append(l.Filters.Requests, f)
	}
}
