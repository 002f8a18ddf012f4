package fuzzobjects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

func (w Generator) common() gwv1.CommonRouteSpec {
	spec := gwv1.CommonRouteSpec{UseDefaultGateways: pick(w, "", "", gwv1.GatewayDefaultScopeNone, gwv1.GatewayDefaultScopeAll)}
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

func (w Generator) hostnames() []gwv1.Hostname {
	var list []gwv1.Hostname
	for range w.IntN(3) {
		list = append(list, pick(w, hostnames...))
	}
	return list
}

func (w Generator) backend() gwv1.BackendRef {
	ref := gwv1.BackendRef{Weight: new(w.Int32N(3))}
	switch w.IntN(9) {
	case 0, 1:
		ref.Group, ref.Kind = new(gwv1.Group(gwxv1alpha1.GroupName)), new(gwv1.Kind("XBackend"))
		ref.Name = pick[gwv1.ObjectName](w, "x1", "x2")
	case 2:
		ref.BackendObjectReference = w.fixedBackendRef()
	case 3, 4:
		ref.BackendObjectReference = w.poolRef()
	case 5:
		ref.BackendObjectReference = w.importRef()
	default:
		ref.Name, ref.Port = pick[gwv1.ObjectName](w, "s1", "s2"), new(pick[int32](w, 80, 81))
	}
	if w.coin() {
		ref.Namespace = new(gwv1.Namespace(pick(w, namespaces...)))
	}
	return ref
}

func (w Generator) httpRoute() metav1.Object {
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
func (w Generator) extend(rule *gwv1.HTTPRouteRule) {
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
		rule.Timeouts = &gwv1.HTTPRouteTimeouts{Request: new(pick[gwv1.Duration](w, "1s", "0s", "soon")), BackendRequest: pick(
			w, nil, new(gwv1.Duration("500ms")),
		)}
	}
}

func (w Generator) backendFilters() []gwv1.HTTPRouteFilter {
	if w.IntN(3) > 0 {
		return nil
	}
	rewrite := &gwv1.HTTPURLRewriteFilter{Hostname: pick(w, nil, new(gwv1.PreciseHostname("to.example.com")))}
	if w.coin() {
		rewrite.Path = &gwv1.HTTPPathModifier{Type: gwv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: new(pick(w, "/x", "/"))}
	}
	return []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterURLRewrite, URLRewrite: rewrite}}
}

func (w Generator) grpcRoute() metav1.Object {
	r := &gwv1.GRPCRoute{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "g1", "r1"))}
	r.Spec.CommonRouteSpec, r.Spec.Hostnames = w.common(), w.hostnames()
	rule := gwv1.GRPCRouteRule{BackendRefs: []gwv1.GRPCBackendRef{{BackendRef: w.backend()}}}
	if w.coin() {
		rule.Matches = []gwv1.GRPCRouteMatch{{Method: &gwv1.GRPCMethodMatch{Service: new("pkg.Service"), Method: new(pick(w, "Get", "Put"))}}}
	}
	r.Spec.Rules = append(r.Spec.Rules, rule)
	return r
}

func (w Generator) backends() []gwv1.BackendRef {
	var list []gwv1.BackendRef
	for range w.IntN(3) {
		list = append(list, w.backend())
	}
	return list
}

func (w Generator) tlsRoute() metav1.Object {
	r := &gwv1.TLSRoute{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "t1", "t2", "t3"))}
	r.Spec.CommonRouteSpec, r.Spec.Hostnames = w.common(), w.hostnames()
	r.Spec.Rules = []gwv1.TLSRouteRule{{BackendRefs: w.backends()}}
	return r
}

func (w Generator) tcpRoute() metav1.Object {
	r := &gwv1.TCPRoute{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "t1", "t2"))}
	r.Spec.CommonRouteSpec = w.common()
	for range 1 + w.IntN(4)/3 {
		r.Spec.Rules = append(r.Spec.Rules, gwv1.TCPRouteRule{BackendRefs: w.backends()})
	}
	return r
}

func (w Generator) udpRoute() metav1.Object {
	r := &gwv1.UDPRoute{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "u1", "u2"))}
	r.Spec.CommonRouteSpec = w.common()
	r.Spec.Rules = []gwv1.UDPRouteRule{{BackendRefs: w.backends()}}
	return r
}
