package fuzzobjects

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// httpFilter is a filter of any kind.
func (w HostileGenerator) httpFilter() gwv1.HTTPRouteFilter {
	switch w.IntN(9) {
	case 8:
		return pick(w.Generator, w.routeFilterRef(), w.extensionRef())
	case 0:
		return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: w.headerFilter()}
	case 1:
		return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: w.headerFilter()}
	case 2:
		return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterRequestMirror, RequestMirror: w.mirror()}
	case 3:
		return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterRequestRedirect, RequestRedirect: &gwv1.HTTPRequestRedirectFilter{
			Scheme: maybe(w, pick(w.Generator, "http", "https")), Hostname: maybe(w, gwv1.PreciseHostname(w.hostname())), Path: w.pathModifier(),
			Port: maybe(w, w.port()), StatusCode: maybe(w, pick(w.Generator, 301, 302, 303, 307, 308)),
		}}
	case 4:
		return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterURLRewrite, URLRewrite: &gwv1.HTTPURLRewriteFilter{
			Hostname: maybe(w, gwv1.PreciseHostname(w.hostname())), Path: w.pathModifier(),
		}}
	case 5:
		return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterCORS, CORS: w.cors()}
	case 6:
		return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExternalAuth, ExternalAuth: w.externalAuth()}
	default:
		if w.IntN(4) > 0 {
			return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: w.headerFilter()}
		}
		return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: &gwv1.LocalObjectReference{
			Group: "example.com", Kind: "Thing", Name: "thing",
		}}
	}
}

func (w HostileGenerator) grpcFilter() gwv1.GRPCRouteFilter {
	switch w.IntN(4) {
	case 3:
		return gwv1.GRPCRouteFilter{Type: gwv1.GRPCRouteFilterExtensionRef, ExtensionRef: w.routeFilterRef().ExtensionRef}
	case 0:
		return gwv1.GRPCRouteFilter{Type: gwv1.GRPCRouteFilterRequestHeaderModifier, RequestHeaderModifier: w.headerFilter()}
	case 1:
		return gwv1.GRPCRouteFilter{Type: gwv1.GRPCRouteFilterResponseHeaderModifier, ResponseHeaderModifier: w.headerFilter()}
	default:
		return gwv1.GRPCRouteFilter{Type: gwv1.GRPCRouteFilterRequestMirror, RequestMirror: w.mirror()}
	}
}

func (w HostileGenerator) headerFilter() *gwv1.HTTPHeaderFilter {
	f := &gwv1.HTTPHeaderFilter{}
	for range w.few(16) {
		f.Set = append(f.Set, gwv1.HTTPHeader{Name: gwv1.HTTPHeaderName(w.token()), Value: w.value()})
	}
	for range w.few(16) {
		f.Add = append(f.Add, gwv1.HTTPHeader{Name: gwv1.HTTPHeaderName(w.token()), Value: w.value()})
	}
	for range w.few(16) {
		f.Remove = append(f.Remove, w.token())
	}
	return f
}

func (w HostileGenerator) mirror() *gwv1.HTTPRequestMirrorFilter {
	f := &gwv1.HTTPRequestMirrorFilter{BackendRef: w.target()}
	switch w.IntN(3) {
	case 0:
		f.Percent = new(pick[int32](w.Generator, 0, 1, 50, 100))
	case 1:
		f.Fraction = &gwv1.Fraction{Numerator: pick[int32](w.Generator, 0, 1, 3, 1<<31-1), Denominator: maybe(w, pick[int32](
			w.Generator, 1, 3, 1_000_000, 1<<31-1,
		))}
	}
	return f
}

func (w HostileGenerator) pathModifier() *gwv1.HTTPPathModifier {
	if w.IntN(3) == 0 {
		return nil
	}
	path := new(w.path())
	if w.coin() {
		return &gwv1.HTTPPathModifier{Type: gwv1.FullPathHTTPPathModifier, ReplaceFullPath: path}
	}
	return &gwv1.HTTPPathModifier{Type: gwv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: path}
}

func (w HostileGenerator) cors() *gwv1.HTTPCORSFilter {
	f := &gwv1.HTTPCORSFilter{AllowCredentials: maybe(w, w.coin()), MaxAge: pick[int32](w.Generator, 0, 1, 5, 1<<31-1)}
	for range w.few(64) {
		f.AllowOrigins = append(f.AllowOrigins, pick[gwv1.CORSOrigin](w.Generator,
			"*", "https://*", "http://a.example.com", "https://*.example.com:8443", "http://-:99999",
			"https://A.Example.Com:443", "null", "https://(", "ftp://a", gwv1.CORSOrigin("https://"+hostileHostnames[14][:240])))
	}
	for range w.few(9) {
		f.AllowMethods = append(f.AllowMethods, pick[gwv1.HTTPMethodWithWildcard](w.Generator, "*", "GET", "POST", "CONNECT"))
	}
	for range w.few(64) {
		f.AllowHeaders = append(f.AllowHeaders, gwv1.HTTPHeaderName(w.token()))
	}
	for range w.few(64) {
		f.ExposeHeaders = append(f.ExposeHeaders, gwv1.HTTPHeaderName(pick(w.Generator, "*", w.token())))
	}
	return f
}

func (w HostileGenerator) externalAuth() *gwv1.HTTPExternalAuthFilter {
	f := &gwv1.HTTPExternalAuthFilter{ExternalAuthProtocol: gwv1.HTTPRouteExternalAuthHTTPProtocol, BackendRef: w.target()}
	var names, more []string
	for range w.few(64) {
		names = append(names, w.token())
	}
	for range w.few(64) {
		more = append(more, w.token())
	}
	if w.coin() {
		f.ExternalAuthProtocol = gwv1.HTTPRouteExternalAuthGRPCProtocol
		f.GRPCAuthConfig = &gwv1.GRPCAuthConfig{AllowedRequestHeaders: names}
	} else {
		f.HTTPAuthConfig = &gwv1.HTTPAuthConfig{Path: w.path(), AllowedRequestHeaders: names, AllowedResponseHeaders: more}
	}
	if w.coin() {
		f.ForwardBody = &gwv1.ForwardBodyConfig{MaxSize: pick[int32](w.Generator, 0, 1, 65535, 1<<31-1)}
	}
	return f
}
