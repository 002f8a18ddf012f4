package fuzzobjects

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/store"
)

// AuthServers are the Services that guarded rules and listeners ask, in each namespace of [Generator.Guarded].
var AuthServers = []gwv1.ObjectName{"auth1", "auth2"}

// AskedHosts, AskedPaths and AskedHeaders are of requests that the rules of [Generator.Guarded] match, or just do not.
var (
	AskedHosts   = []string{"a.example.com", "b.example.com", "x.b.example.com", "x.example.com", "other.org", "x.org"}
	AskedPaths   = []string{"/", "/a", "/a/b", "/a/x", "/admin", "/admin/x", "/z", "/zzz", "/else"}
	AskedHeaders = [][]ir.Header{nil, {{Name: "x-a", Value: "1"}}, {{Name: "cookie", Value: "role=staff"}}}
)

var (
	guardedPaths = []string{"/", "/a", "/a/b", "/admin", "/admin/x", "/z"}
	guardedHosts = []gwv1.Hostname{"a.example.com", "b.example.com", "*.example.com", "*.b.example.com", "other.org"}
	tenants      = []string{"app", "web"}
	guardedSets  = []string{"more", "most"}
)

// Guarded makes objects that fit together: a Gateway with listeners, and routes of two tenants and both kinds that overlap, of which some
// guard requests by filters, Extensions and policies, some only those with a cookie; listeners may ask for certificates. Every reference
// resolves.
func (w Generator) Guarded() []store.Change {
	var changes []store.Change
	add := func(kind store.Kind, object store.Object) {
		changes = append(changes, store.Change{Kind: kind, Key: store.KeyOf(object), Object: object})
	}
	add(store.GatewayClass, &gwv1.GatewayClass{
		ObjectMeta: w.meta("", "ours"), Spec: gwv1.GatewayClassSpec{ControllerName: class.ControllerName},
	})
	gw := w.guardedGateway()
	add(store.Gateway, gw)
	for _, namespace := range tenants {
		for _, name := range guardedSets {
			if w.IntN(3) == 0 {
				add(store.ListenerSet, w.guardedSet(namespace, name))
			}
		}
	}
	for _, namespace := range namespaces {
		for _, name := range append([]gwv1.ObjectName{"s1", "s2"}, AuthServers...) {
			add(store.Service, &corev1.Service{
				ObjectMeta: w.meta(namespace, string(name)), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			})
		}
		add(store.Extension, &v1alpha1.Extension{
			ObjectMeta: w.meta(namespace, "script"), Spec: v1alpha1.ExtensionSpec{Lua: []v1alpha1.Lua{{Inline: new(hostileScripts[0])}}},
		})
	}
	for _, namespace := range namespaces {
		pair := KeyPairs()[0]
		add(store.Secret, &corev1.Secret{
			ObjectMeta: w.meta(namespace, "cert"), Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: pair[0], corev1.TLSPrivateKeyKey: pair[1]},
		})
		w.policyData(namespace, add)
		add(store.HTTPRouteFilter, &v1alpha1.HTTPRouteFilter{
			ObjectMeta: w.meta(namespace, "staff"), Spec: v1alpha1.HTTPRouteFilterSpec{
				Matches: []v1alpha1.HTTPRouteFilterMatch{{Cookies: []v1alpha1.CookieMatch{{Name: "role", Value: "staff"}}}},
			},
		})
	}
	for i := range 3 + w.IntN(5) {
		add(store.HTTPRoute, w.GuardedRoute(pick(w, tenants...), fmt.Sprintf("r%d", i)))
	}
	for i := range w.IntN(3) {
		add(store.GRPCRoute, w.guardedGRPCRoute(pick(w, tenants...), fmt.Sprintf("g%d", i)))
	}
	for i := range w.IntN(5) {
		add(store.SecurityPolicy, w.guardingPolicy(i))
	}
	w.trafficGuards(gw, add)
	return changes
}

func (w Generator) guardedGateway() *gwv1.Gateway {
	gw := &gwv1.Gateway{ObjectMeta: w.meta("infra", "one"), Spec: gwv1.GatewaySpec{GatewayClassName: "ours"}}
	gw.Spec.AllowedListeners = &gwv1.AllowedListeners{Namespaces: &gwv1.ListenerNamespaces{From: new(gwv1.NamespacesFromAll)}}
	gw.Spec.Listeners = []gwv1.Listener{
		w.guardedListener("l0", "", gwv1.HTTPProtocolType), w.guardedListener("s0", "", gwv1.HTTPSProtocolType),
	}
	gw.Spec.Listeners[0].Filters, gw.Spec.Listeners[1].Filters = nil, nil
	seen := map[gwv1.Hostname]bool{}
	for i := range w.IntN(4) {
		if hostname := pick(w, guardedHosts...); !seen[hostname] {
			seen[hostname] = true
			gw.Spec.Listeners = append(gw.Spec.Listeners, w.guardedListener(fmt.Sprintf("l%d", i+1), hostname, w.protocol()))
		}
	}
	return gw
}

func (w Generator) protocol() gwv1.ProtocolType {
	return pick(w, gwv1.HTTPProtocolType, gwv1.HTTPProtocolType, gwv1.HTTPSProtocolType)
}

func (w Generator) guardedSet(namespace, name string) *gwv1.ListenerSet {
	set := &gwv1.ListenerSet{ObjectMeta: w.meta(namespace, name)}
	set.Spec.ParentRef.Name, set.Spec.ParentRef.Namespace = "one", new(gwv1.Namespace("infra"))
	for i := range 1 + w.IntN(2) {
		l := w.guardedListener(fmt.Sprintf("set%d", i), pick(w, guardedHosts...), w.protocol())
		set.Spec.Listeners = append(set.Spec.Listeners, gwv1.ListenerEntry(l))
	}
	return set
}

func (w Generator) guardedListener(name string, hostname gwv1.Hostname, protocol gwv1.ProtocolType) gwv1.Listener {
	l := gwv1.Listener{Name: gwv1.SectionName(name), Port: 80, Protocol: protocol}
	if protocol == gwv1.HTTPSProtocolType {
		l.Port, l.TLS = 443, &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: "cert"}}}
	}
	if hostname != "" {
		l.Hostname = &hostname
	}
	l.AllowedRoutes = &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{From: new(gwv1.NamespacesFromAll)}}
	if w.coin() {
		l.Filters = w.listenerFilters(1)
	}
	return l
}

func (w Generator) listenerFilters(count int) *gwv1.ListenerFilters {
	filters := &gwv1.ListenerFilters{}
	for range count {
		ask := gwv1.ListenerFilter{Type: gwv1.ListenerFilterExternalAuth, ExternalAuth: w.AskServer().ExternalAuth}
		filters.Requests = append(filters.Requests, ask)
	}
	return filters
}

// Refilter has a listener of [Generator.Guarded] ask other servers, if possible one that asks some already. It returns the changed object,
// and the ID of the listener at the Gateway.
func (w Generator) Refilter(objects []store.Change) (change store.Change, listener string) {
	kind := store.Gateway
	if slices.ContainsFunc(objects, func(c store.Change) bool { return c.Kind == store.ListenerSet }) && w.IntN(3) == 0 {
		kind = store.ListenerSet
	}
	change = objects[w.choose(objects, kind)]
	original, _ := change.Object.(store.Object)
	switch o := original.DeepCopyObject().(type) {
	case *gwv1.Gateway:
		l := &o.Spec.Listeners[w.asking(len(o.Spec.Listeners), func(i int) bool { return o.Spec.Listeners[i].Filters != nil })]
		l.Filters, listener, change.Object = w.otherFilters(l.Filters), string(l.Name), o
	case *gwv1.ListenerSet:
		l := &o.Spec.Listeners[w.asking(len(o.Spec.Listeners), func(i int) bool { return o.Spec.Listeners[i].Filters != nil })]
		l.Filters, listener, change.Object = w.otherFilters(l.Filters), change.Key+"/"+string(l.Name), o
	}
	return change, listener
}

// asking chooses a listener that asks a server, and any if none does.
func (w Generator) asking(count int, asks func(i int) bool) int {
	var all, some []int
	for i := range count {
		if all = append(all, i); asks(i) {
			some = append(some, i)
		}
	}
	if len(some) > 0 {
		all = some
	}
	return pick(w, all...)
}

// otherFilters asks other servers, as many as before, or one more.
func (w Generator) otherFilters(before *gwv1.ListenerFilters) *gwv1.ListenerFilters {
	if before == nil {
		return w.listenerFilters(1)
	}
	for {
		if other := w.listenerFilters(len(before.Requests) + w.IntN(3)/2); !reflect.DeepEqual(other, before) {
			return other
		}
	}
}

// AskServer is a filter that asks one of [AuthServers].
func (w Generator) AskServer() gwv1.HTTPRouteFilter {
	return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExternalAuth, ExternalAuth: &gwv1.HTTPExternalAuthFilter{
		ExternalAuthProtocol: gwv1.HTTPRouteExternalAuthGRPCProtocol,
		BackendRef:           gwv1.BackendObjectReference{Name: pick(w, AuthServers...), Port: new(gwv1.PortNumber(80))},
	}}
}

// GuardedRoute is a route of [Generator.Guarded].
func (w Generator) GuardedRoute(namespace, name string) *gwv1.HTTPRoute {
	r := &gwv1.HTTPRoute{ObjectMeta: w.meta(namespace, name)}
	r.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+w.IntN(20)), 0))
	r.Spec.ParentRefs, r.Spec.Hostnames = w.guardedParents(), w.guardedHostnames()
	for range 1 + w.IntN(3) {
		r.Spec.Rules = append(r.Spec.Rules, w.guardedRule())
	}
	return r
}

func (w Generator) guardedParents() []gwv1.ParentReference {
	refs := []gwv1.ParentReference{{Name: "one", Namespace: new(gwv1.Namespace("infra"))}}
	for _, namespace := range tenants {
		for _, name := range guardedSets {
			if w.IntN(4) == 0 {
				set := gwv1.ParentReference{Kind: new(gwv1.Kind("ListenerSet")), Namespace: new(gwv1.Namespace(namespace))}
				set.Name = gwv1.ObjectName(name)
				refs = append(refs, set)
			}
		}
	}
	return refs
}

func (w Generator) guardedHostnames() []gwv1.Hostname {
	var hostnames []gwv1.Hostname
	for range w.IntN(3) {
		hostnames = append(hostnames, pick(w, guardedHosts...))
	}
	return hostnames
}

// guardedGRPCRoute is a route for the same hostnames, of which a listener takes the older kind. Its services are paths of other routes.
func (w Generator) guardedGRPCRoute(namespace, name string) *gwv1.GRPCRoute {
	r := &gwv1.GRPCRoute{ObjectMeta: w.meta(namespace, name)}
	r.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+w.IntN(20)), 0))
	r.Spec.ParentRefs = w.guardedParents()
	r.Spec.Hostnames = []gwv1.Hostname{pick(w, guardedHosts...)}
	for range 1 + w.IntN(2) {
		var rule gwv1.GRPCRouteRule
		if w.coin() {
			rule.Matches = []gwv1.GRPCRouteMatch{{Method: &gwv1.GRPCMethodMatch{Service: new(pick(w, "a", "admin"))}}}
		}
		if w.coin() {
			rule.Filters = []gwv1.GRPCRouteFilter{{Type: gwv1.GRPCRouteFilterExtensionRef, ExtensionRef: ownRef("Extension", "script")}}
		}
		rule.BackendRefs = []gwv1.GRPCBackendRef{{BackendRef: w.guardedBackend()}}
		r.Spec.Rules = append(r.Spec.Rules, rule)
	}
	return r
}

func ownRef(kind gwv1.Kind, name gwv1.ObjectName) *gwv1.LocalObjectReference {
	return &gwv1.LocalObjectReference{Group: v1alpha1.GroupName, Kind: kind, Name: name}
}

func (w Generator) guardedBackend() gwv1.BackendRef {
	return gwv1.BackendRef{BackendObjectReference: gwv1.BackendObjectReference{
		Name: pick[gwv1.ObjectName](w, "s1", "s2"), Port: new(gwv1.PortNumber(80)),
	}}
}

func (w Generator) guardedRule() gwv1.HTTPRouteRule {
	var rule gwv1.HTTPRouteRule
	for range w.IntN(3) {
		m := gwv1.HTTPRouteMatch{Path: &gwv1.HTTPPathMatch{
			Type: new(pick(w, gwv1.PathMatchExact, gwv1.PathMatchPathPrefix, gwv1.PathMatchPathPrefix)), Value: new(pick(w, guardedPaths...)),
		}}
		switch w.IntN(6) {
		case 0:
			m.Path.Type, m.Path.Value = new(gwv1.PathMatchRegularExpression), new(pick(w, "/a.*", "/admin/[a-z]+", "/.*x", "/z{0,9}"))
		case 1:
			m.Headers = []gwv1.HTTPHeaderMatch{{Name: "X-A", Value: "1"}}
		}
		rule.Matches = append(rule.Matches, m)
	}
	switch w.IntN(6) {
	case 0, 1:
		rule.Filters = []gwv1.HTTPRouteFilter{w.AskServer()}
	case 2:
		rule.Filters = []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: ownRef("Extension", "script")}}
	}
	if w.IntN(5) == 0 {
		staff := gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: ownRef("HTTPRouteFilter", "staff")}
		rule.Filters = append([]gwv1.HTTPRouteFilter{staff}, rule.Filters...)
	}
	rule.BackendRefs = []gwv1.HTTPBackendRef{{BackendRef: w.guardedBackend()}}
	return rule
}
