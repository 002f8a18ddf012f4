package fuzzobjects

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// hostileScripts are scripts that do not compile, do not end, or try to get out.
var hostileScripts = []string{
	"function envoy_on_request(handle) handle:headers():add('x-a', 'b') end", "function envoy_on_response(handle) end", "",
	"function (((", "error('top')", "while true do end", "os.execute('true')", "return require('ffi')", "\x1bLJ\x02", "]]", "\"", "\\", "--[[",
	"envoy_on_request = 1", "string = nil", "_G.pairs = nil", strings.Repeat("-", 32<<10), strings.Repeat("(", 1000), "ü\u2028", "\x00",
}

func (w Generator) extension() metav1.Object {
	e := &v1alpha1.Extension{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "e1", "e2"))}
	if w.coin() {
		e.Spec.Lua = []v1alpha1.Lua{{Inline: new(hostileScripts[0])}}
	} else {
		e.Spec.ExtProc = []v1alpha1.ExtProc{{BackendRefs: []gwv1.BackendObjectReference{w.backend().BackendObjectReference}}}
	}
	return e
}

// extensionRef is a filter that refers to an Extension.
func (w Generator) extensionRef() gwv1.HTTPRouteFilter {
	return gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: &gwv1.LocalObjectReference{
		Group: v1alpha1.GroupName, Kind: "Extension", Name: pick[gwv1.ObjectName](w, "e1", "e2"),
	}}
}

// listenerExtension is a filter of a listener that refers to an Extension.
func (w Generator) listenerExtension() gwv1.ListenerFilter {
	return gwv1.ListenerFilter{Type: gwv1.ListenerFilterExtensionRef, ExtensionRef: w.extensionRef().ExtensionRef}
}

func (w HostileGenerator) extension() metav1.Object {
	e := &v1alpha1.Extension{ObjectMeta: w.namespaced("e1", "e2")}
	for range w.IntN(3) {
		e.Spec.Lua = append(e.Spec.Lua, w.lua())
	}
	for range w.IntN(3) {
		e.Spec.ExtProc = append(e.Spec.ExtProc, w.extProc())
	}
	return e
}

func (w HostileGenerator) lua() v1alpha1.Lua {
	l := v1alpha1.Lua{Inline: new(pick(w.Generator, hostileScripts...))}
	if w.IntN(4) == 0 {
		l = v1alpha1.Lua{Type: new(v1alpha1.SourceValueRef), ValueRef: &gwv1.LocalObjectReference{Kind: "ConfigMap", Name: "other"}}
	}
	if w.IntN(3) == 0 {
		l.FilterContext = &runtime.RawExtension{Raw: []byte(pick(
			w.Generator, `{}`, `{"a":{"b":[1,true,null,"c\n"]},"\"]":1e300}`, `[]`,
			`{"a":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`, `1`, `{"a":1e999}`,
		))}
	}
	return l
}

func (w HostileGenerator) extProc() v1alpha1.ExtProc {
	p := v1alpha1.ExtProc{
		BackendRefs: []gwv1.BackendObjectReference{w.target()}, MessageTimeout: w.duration(), FailOpen: maybe(w, w.coin()),
		ShadowMode: maybe(w, w.coin()), StatusOnError: maybe(w, pick[int32](w.Generator, 400, 418, 500, 511)),
	}
	if w.IntN(4) > 0 {
		p.ProcessingMode = &v1alpha1.ExtProcProcessingMode{
			Request: w.extProcMessage(), Response: w.extProcMessage(), AllowModeOverride: maybe(w, w.coin()),
		}
	}
	if w.IntN(3) == 0 {
		p.Metadata = &v1alpha1.ExtProcMetadata{
			AccessibleNamespaces: []string{pick(w.Generator, "envoy.filters.http.ext_authz", "a b", "shop")},
			WritableNamespaces:   []string{pick(w.Generator, "shop", "envoy.lb")},
		}
	}
	return p
}

func (w HostileGenerator) extProcMessage() *v1alpha1.ExtProcMessage {
	if w.IntN(3) == 0 {
		return nil
	}
	m := &v1alpha1.ExtProcMessage{Body: maybe(w, pick(
		w.Generator, v1alpha1.ExtProcStreamed, v1alpha1.ExtProcBuffered, v1alpha1.ExtProcBufferedPartial, v1alpha1.ExtProcFullDuplexStreamed,
	))}
	for range w.few(8) {
		m.Attributes = append(m.Attributes, pick(
			w.Generator, "request.path", "source.address", "xds.route_name", "connection.mtls", "request.", "request.path()", "upstream.none",
		))
	}
	return m
}
