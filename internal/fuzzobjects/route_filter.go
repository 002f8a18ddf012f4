package fuzzobjects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

func (w Generator) httpRouteFilter() metav1.Object {
	f := &v1alpha1.HTTPRouteFilter{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "f1", "f2"))}
	switch w.IntN(5) {
	case 0:
		f.Spec.DirectResponse = &v1alpha1.DirectResponse{StatusCode: new(pick[int32](w, 200, 403, 503)), Body: &v1alpha1.DirectResponseBody{
			Type: new(v1alpha1.SourceValueRef), ValueRef: &gwv1.LocalObjectReference{Kind: "ConfigMap", Name: "other"},
		}}
	case 1:
		f.Spec.URLRewrite = &v1alpha1.URLRewrite{
			Hostname: pick(w, nil, &v1alpha1.HostnameModifier{Type: v1alpha1.HostnameFromHeader, Header: new(gwv1.HTTPHeaderName("x-host"))}),
			Path: &v1alpha1.PathModifier{
				Type: v1alpha1.ReplaceRegexMatch, ReplaceRegexMatch: &v1alpha1.RegexRewrite{Pattern: "^/(a|b)", Substitution: pick(w, `/\1/x`, `/\2`)},
			},
		}
	case 2:
		f.Spec.RequestHeaderModifier = &gwv1.HTTPHeaderFilter{Set: []gwv1.HTTPHeader{
			{Name: "x-a", Value: pick(w, "%REQ(x-b)%", "%BOGUS%", "50% off")},
		}}
	case 3:
		f.Spec.CredentialInjection = w.credentialInjection()
	default:
		f.Spec.Matches = []v1alpha1.HTTPRouteFilterMatch{{Cookies: []v1alpha1.CookieMatch{{Name: "a", Value: pick(w, "b", "c")}}}}
	}
	return f
}

func (w Generator) credentialInjection() *v1alpha1.CredentialInjection {
	return &v1alpha1.CredentialInjection{
		Header:    pick(w, nil, new(gwv1.HTTPHeaderName("x-api-key")), new(gwv1.HTTPHeaderName("host"))),
		Overwrite: pick(w, nil, new(true)),
		Credential: v1alpha1.InjectedCredential{ValueRef: gwv1.SecretObjectReference{
			Name: pick[gwv1.ObjectName](w, "users", "users", "none"), Namespace: pick(w, nil, nil, new(gwv1.Namespace("infra"))),
		}},
	}
}

// routeFilterRef is a filter that refers to an HTTPRouteFilter.
func (w Generator) routeFilterRef() gwv1.HTTPRouteFilter {
	return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: &gwv1.LocalObjectReference{
		Group: v1alpha1.GroupName, Kind: "HTTPRouteFilter", Name: pick[gwv1.ObjectName](w, "f1", "f1", "f2", "f2", "none"),
	}}
}

func (w HostileGenerator) httpRouteFilter() metav1.Object {
	f := &v1alpha1.HTTPRouteFilter{ObjectMeta: w.namespaced("f1", "f2")}
	f.Spec.RequestHeaderModifier = pick(w.Generator, nil, nil, w.headerFilter())
	f.Spec.ResponseHeaderModifier = pick(w.Generator, nil, nil, w.headerFilter())
	for range w.IntN(6) / 4 {
		f.Spec.Matches = append(f.Spec.Matches, v1alpha1.HTTPRouteFilterMatch{Cookies: w.cookieMatches()})
	}
	if w.IntN(3) == 0 {
		f.Spec.DirectResponse = w.directResponse()
		return f
	}
	f.Spec.URLRewrite = pick(w.Generator, nil, w.urlRewrite())
	f.Spec.CredentialInjection = pick(w.Generator, nil, nil, w.credentialInjection())
	return f
}

func (w HostileGenerator) cookieMatches() []v1alpha1.CookieMatch {
	var list []v1alpha1.CookieMatch
	for range 1 + w.few(15) {
		c := v1alpha1.CookieMatch{Name: w.token(), Value: w.value()}
		if w.coin() {
			c.Type, c.Value = new(v1alpha1.CookieMatchRegularExpression), w.expression()
		}
		list = append(list, c)
	}
	return list
}

func (w HostileGenerator) directResponse() *v1alpha1.DirectResponse {
	r := &v1alpha1.DirectResponse{
		StatusCode: maybe(w, pick[int32](w.Generator, 200, 204, 301, 304, 403, 599)), ContentType: maybe(w, w.value()),
		Header: pick(w.Generator, nil, w.headerFilter()),
	}
	if r.Header != nil {
		r.Header.Remove = nil
	}
	switch w.IntN(3) {
	case 0:
		r.Body = &v1alpha1.DirectResponseBody{Inline: new(w.text(hostileHeaderValues))}
	case 1:
		r.Body = &v1alpha1.DirectResponseBody{
			Type: new(v1alpha1.SourceValueRef), ValueRef: &gwv1.LocalObjectReference{Kind: "ConfigMap", Name: "other"},
		}
	}
	return r
}

func (w HostileGenerator) urlRewrite() *v1alpha1.URLRewrite {
	r := &v1alpha1.URLRewrite{AppendXForwardedHost: maybe(w, w.coin())}
	edit := func() *v1alpha1.RegexRewrite {
		substitution := pick(w.Generator, w.path(), `\1`, `/x/\0`, `\\`, "a.example", `\9`, "")
		return &v1alpha1.RegexRewrite{Pattern: w.expression(), Substitution: substitution}
	}
	switch w.IntN(4) {
	case 0:
		r.Hostname = &v1alpha1.HostnameModifier{Type: v1alpha1.HostnameFromHeader, Header: new(gwv1.HTTPHeaderName(w.token()))}
	case 1:
		r.Hostname = &v1alpha1.HostnameModifier{Type: v1alpha1.HostnameFromPath, PathRegex: edit()}
	case 2:
		r.Hostname = &v1alpha1.HostnameModifier{Type: v1alpha1.HostnameFromBackend}
	}
	if r.Hostname == nil || w.coin() {
		r.Path = &v1alpha1.PathModifier{Type: v1alpha1.ReplaceRegexMatch, ReplaceRegexMatch: edit()}
	}
	return r
}
