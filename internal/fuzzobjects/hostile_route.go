package fuzzobjects

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

var methods = []gwv1.HTTPMethod{
	gwv1.HTTPMethodGet, gwv1.HTTPMethodHead, gwv1.HTTPMethodPost, gwv1.HTTPMethodPut, gwv1.HTTPMethodDelete, gwv1.HTTPMethodConnect,
	gwv1.HTTPMethodOptions, gwv1.HTTPMethodTrace, gwv1.HTTPMethodPatch,
}

func (w HostileGenerator) common() gwv1.CommonRouteSpec {
	ref := gwv1.ParentReference{Name: gwv1.ObjectName(HostileGateway.Name), Namespace: new(gwv1.Namespace(HostileGateway.Namespace))}
	spec := gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{ref}}
	switch w.IntN(5) {
	case 0:
		spec.ParentRefs[0].SectionName = new(gwv1.SectionName(fmt.Sprintf("l%d", w.IntN(4))))
	case 1:
		spec.ParentRefs[0].Port = new(w.port())
	case 2:
		spec.ParentRefs = append(spec.ParentRefs, gwv1.ParentReference{
			Kind: new(gwv1.Kind("ListenerSet")), Name: pick[gwv1.ObjectName](w.Generator, "one", "more"), Namespace: new(gwv1.Namespace(pick(
				w.Generator, namespaces...,
			))),
		})
	}
	return spec
}

func (w HostileGenerator) hostnames() []gwv1.Hostname {
	var list []gwv1.Hostname
	for range w.few(16) {
		list = append(list, gwv1.Hostname(w.hostname()))
	}
	return list
}

func (w HostileGenerator) routeName() metav1.ObjectMeta {
	return w.namespaced("r1", "r2", "r3", "r4", "r5", "r.6", hostileHostnames[14])
}

func (w HostileGenerator) target() gwv1.BackendObjectReference {
	ref := gwv1.BackendObjectReference{Name: pick[gwv1.ObjectName](
		w.Generator, "s1", "s2", "s3", "s1", "s2", "s3", "s4", "none",
	), Port: new(pick[int32](w.Generator, 80, 80, 80, 81, 81, 82))}
	switch w.IntN(16) {
	case 3, 4:
		return w.fixedBackendRef()
	case 5:
		return w.poolRef()
	case 6:
		return w.importRef()
	case 0:
		ref.Port = nil
	case 1:
		ref = gwv1.BackendObjectReference{
			Kind: new(gwv1.Kind("XBackend")), Group: new(gwv1.Group("gateway.networking.x-k8s.io")), Name: pick[gwv1.ObjectName](
				w.Generator, "x1", "x2",
			),
		}
	case 2:
		ref.Namespace = new(gwv1.Namespace(pick(w.Generator, namespaces...)))
	}
	return ref
}

func (w HostileGenerator) backend() gwv1.BackendRef {
	return gwv1.BackendRef{BackendObjectReference: w.target(), Weight: maybe(w, pick(w.Generator, hostileWeights...))}
}

func (w HostileGenerator) backends() []gwv1.BackendRef {
	var list []gwv1.BackendRef
	for range w.few(16) {
		list = append(list, w.backend())
	}
	return list
}

func (w HostileGenerator) httpRoute() metav1.Object {
	r := &gwv1.HTTPRoute{ObjectMeta: w.routeName()}
	r.Spec.CommonRouteSpec, r.Spec.Hostnames = w.common(), w.hostnames()
	for i := range 1 + w.few(15) {
		r.Spec.Rules = append(r.Spec.Rules, w.httpRule(i))
	}
	return r
}

func (w HostileGenerator) httpRule(i int) gwv1.HTTPRouteRule {
	var rule gwv1.HTTPRouteRule
	if w.IntN(4) == 0 {
		rule.Name = new(gwv1.SectionName(fmt.Sprintf("rule-%d", i)))
	}
	for range w.few(4) {
		rule.Matches = append(rule.Matches, w.httpMatch())
	}
	redirects := false
	for range w.IntN(3) {
		f := w.httpFilter()
		redirects = redirects || f.Type == gwv1.HTTPRouteFilterRequestRedirect
		rule.Filters = append(rule.Filters, f)
	}
	if !redirects {
		for range w.few(16) {
			ref := gwv1.HTTPBackendRef{BackendRef: w.backend()}
			for range w.IntN(4) / 2 {
				ref.Filters = append(ref.Filters, w.httpFilter())
			}
			rule.BackendRefs = append(rule.BackendRefs, ref)
		}
	}
	if w.IntN(3) == 0 {
		rule.Timeouts = &gwv1.HTTPRouteTimeouts{Request: w.duration(), BackendRequest: w.duration()}
	}
	if w.IntN(3) == 0 {
		rule.Retry = &gwv1.HTTPRouteRetry{Attempts: maybe(w, pick(w.Generator, 0, 1, 3, 1<<31-1, 1<<40)), Backoff: w.duration()}
		for range w.few(8) {
			rule.Retry.Codes = append(rule.Retry.Codes, pick[gwv1.HTTPRouteRetryStatusCode](w.Generator, 400, 404, 500, 503, 599))
		}
	}
	rule.SessionPersistence = w.session() //nolint:staticcheck // deprecated in the standard, and still to be served
	return rule
}

func (w HostileGenerator) httpMatch() gwv1.HTTPRouteMatch {
	m := gwv1.HTTPRouteMatch{}
	switch w.IntN(4) {
	case 0:
	case 1:
		m.Path = &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchRegularExpression), Value: new(w.expression())}
	default:
		m.Path = &gwv1.HTTPPathMatch{Type: maybe(w, pick(w.Generator, gwv1.PathMatchExact, gwv1.PathMatchPathPrefix)), Value: new(w.path())}
	}
	if w.IntN(4) == 0 {
		m.Method = new(pick(w.Generator, methods...))
	}
	for range w.IntN(6) / 3 {
		h := gwv1.HTTPHeaderMatch{Name: gwv1.HTTPHeaderName(w.token()), Value: w.value()}
		if w.coin() {
			h.Type, h.Value = new(gwv1.HeaderMatchRegularExpression), w.expression()
		}
		m.Headers = append(m.Headers, h)
	}
	for range w.IntN(6) / 3 {
		q := gwv1.HTTPQueryParamMatch{Name: gwv1.HTTPHeaderName(w.token()), Value: w.value()}
		if w.coin() {
			q.Type, q.Value = new(gwv1.QueryParamMatchRegularExpression), w.expression()
		}
		m.QueryParams = append(m.QueryParams, q)
	}
	return m
}

func (w HostileGenerator) session() *gwv1.SessionPersistence {
	if w.IntN(4) > 0 {
		return nil
	}
	s := &gwv1.SessionPersistence{AbsoluteTimeout: w.duration()}
	if w.coin() {
		s.Type, s.Header = new(gwv1.HeaderBasedSessionPersistence), &gwv1.HeaderConfig{Name: gwv1.HeaderName(w.token())}
		return s
	}
	s.Type = new(gwv1.CookieBasedSessionPersistence)
	s.Cookie = &gwv1.CookieConfig{
		LifetimeType: maybe(w, pick(w.Generator, gwv1.PermanentCookieLifetimeType, gwv1.SessionCookieLifetimeType)),
		Path:         maybe(w, w.path()),
	}
	if w.coin() {
		s.Cookie.Name = (*gwv1.CookieName)(new(w.token()))
	}
	return s
}

func (w HostileGenerator) grpcRoute() metav1.Object {
	r := &gwv1.GRPCRoute{ObjectMeta: w.routeName()}
	r.Spec.CommonRouteSpec, r.Spec.Hostnames = w.common(), w.hostnames()
	for range 1 + w.few(8) {
		rule := gwv1.GRPCRouteRule{SessionPersistence: w.session()} //nolint:staticcheck // deprecated in the standard, and still to be served
		for range w.few(4) {
			rule.Matches = append(rule.Matches, w.grpcMatch())
		}
		for range w.IntN(3) {
			rule.Filters = append(rule.Filters, w.grpcFilter())
		}
		for range w.few(16) {
			rule.BackendRefs = append(rule.BackendRefs, gwv1.GRPCBackendRef{BackendRef: w.backend()})
		}
		r.Spec.Rules = append(r.Spec.Rules, rule)
	}
	return r
}

func (w HostileGenerator) grpcMatch() gwv1.GRPCRouteMatch {
	m := gwv1.GRPCRouteMatch{Method: &gwv1.GRPCMethodMatch{Service: maybe(w, "pkg.Service"), Method: maybe(w, "Get")}}
	if w.coin() {
		m.Method = &gwv1.GRPCMethodMatch{
			Type: new(gwv1.GRPCMethodMatchRegularExpression), Service: maybe(w, w.expression()), Method: maybe(w, w.expression()),
		}
	}
	for range w.IntN(6) / 3 {
		h := gwv1.GRPCHeaderMatch{Name: gwv1.GRPCHeaderName(w.token()), Value: w.value()}
		if w.coin() {
			h.Type, h.Value = new(gwv1.GRPCHeaderMatchRegularExpression), w.expression()
		}
		m.Headers = append(m.Headers, h)
	}
	return m
}

func (w HostileGenerator) tlsRoute() metav1.Object {
	r := &gwv1.TLSRoute{ObjectMeta: w.routeName()}
	r.Spec.CommonRouteSpec, r.Spec.Hostnames = w.common(), append(w.hostnames(), gwv1.Hostname(w.hostname()))
	r.Spec.Rules = []gwv1.TLSRouteRule{{BackendRefs: append(w.backends(), w.backend())}}
	return r
}

func (w HostileGenerator) tcpRoute() metav1.Object {
	r := &gwv1.TCPRoute{ObjectMeta: w.routeName()}
	r.Spec.CommonRouteSpec = w.common()
	r.Spec.Rules = []gwv1.TCPRouteRule{{BackendRefs: append(w.backends(), w.backend())}}
	return r
}

func (w HostileGenerator) udpRoute() metav1.Object {
	r := &gwv1.UDPRoute{ObjectMeta: w.routeName()}
	r.Spec.CommonRouteSpec = w.common()
	r.Spec.Rules = []gwv1.UDPRouteRule{{BackendRefs: append(w.backends(), w.backend())}}
	return r
}
