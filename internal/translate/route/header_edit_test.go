package route_test

import (
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

func set(name, value string) *ir.HeaderEdit {
	return &ir.HeaderEdit{Set: []ir.Header{{Name: name, Value: value}}}
}

func add(name, value string) *ir.HeaderEdit {
	return &ir.HeaderEdit{Add: []ir.Header{{Name: name, Value: value}}}
}

func remove(name string) *ir.HeaderEdit { return &ir.HeaderEdit{Remove: []string{name}} }

// apply edits headers as Envoy does: removes, overwrites, then appends, expanding `%%`.
func apply(headers map[string]string, options []*corev3.HeaderValueOption, removed []string) {
	for _, name := range removed {
		delete(headers, strings.ToLower(name))
	}
	sorted := slices.Clone(options)
	slices.SortStableFunc(sorted, func(a, b *corev3.HeaderValueOption) int {
		return int(b.GetAppendAction()) - int(a.GetAppendAction())
	})
	for _, o := range sorted {
		name, value := strings.ToLower(o.GetHeader().GetKey()), strings.ReplaceAll(o.GetHeader().GetValue(), "%%", "%")
		if before, ok := headers[name]; ok && o.GetAppendAction() == corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD {
			value = before + "," + value
		}
		headers[name] = value
	}
}

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	var none *ir.HeaderEdit
	tests := []struct {
		name          string
		rule, backend *ir.HeaderEdit
		want          string
	}{
		{"no edit", none, none, "old"},
		{"the rule sets", set("X", "new"), none, "new"},
		{"the rule adds", add("X", "new"), none, "old,new"},
		{"the rule removes", remove("X"), none, ""},
		{"a percent sign is one", set("X", "%BOGUS( 100%"), none, "%BOGUS( 100%"},
		{"the backend sets", none, set("x", "new"), "new"},
		{"the backend has the last word over a set", set("X", "rule"), set("x", "backend"), "backend"},
		{"the backend has the last word over an add", add("X", "rule"), set("x", "backend"), "backend"},
		{"the backend has the last word over a removal", remove("X"), set("x", "backend"), "backend"},
		{"the backend adds to what the rule set", set("X", "rule"), add("x", "backend"), "rule,backend"},
		{"the backend adds to what the rule added", add("X", "rule"), add("x", "backend"), "old,rule,backend"},
		{"the backend adds after the rule removed", remove("X"), add("x", "backend"), "backend"},
		{"the backend removes what the rule set", set("X", "rule"), remove("x"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rule := to("r", path(ir.Prefix, "/"))
			rule.RequestHeaders, rule.Forward.Backends[0].RequestHeaders = tt.rule, tt.backend
			got := only(t, rule)
			headers := map[string]string{"x": "old"}
			for _, c := range got.GetRoute().GetWeightedClusters().GetClusters() {
				apply(headers, c.GetRequestHeadersToAdd(), c.GetRequestHeadersToRemove())
			}
			apply(headers, got.GetRequestHeadersToAdd(), got.GetRequestHeadersToRemove())
			if headers["x"] != tt.want {
				t.Errorf("x is %q, want %q", headers["x"], tt.want)
			}
		})
	}
}

func TestResponseHeaders(t *testing.T) {
	t.Parallel()
	t.Run("the rule has the last word, as a response meets it last", func(t *testing.T) {
		t.Parallel()
		rule := to("r", path(ir.Prefix, "/"))
		rule.ResponseHeaders, rule.Forward.Backends[0].ResponseHeaders = set("x", "rule"), set("x", "backend")
		got := only(t, rule)
		headers := map[string]string{}
		for _, c := range got.GetRoute().GetWeightedClusters().GetClusters() {
			apply(headers, c.GetResponseHeadersToAdd(), c.GetResponseHeadersToRemove())
		}
		if headers["x"] != "backend" {
			t.Errorf("after the backend x is %q", headers["x"])
		}
		apply(headers, got.GetResponseHeadersToAdd(), got.GetResponseHeadersToRemove())
		if headers["x"] != "rule" {
			t.Errorf("x is %q", headers["x"])
		}
	})
	t.Run("a redirect has them too", func(t *testing.T) {
		t.Parallel()
		got := only(t, ir.Rule{Redirect: &ir.Redirect{Hostname: "b.example"}, ResponseHeaders: set("x", "")})
		if len(got.GetResponseHeadersToAdd()) != 1 || !got.GetResponseHeadersToAdd()[0].GetKeepEmptyValue() {
			t.Errorf("got %v", got.GetResponseHeadersToAdd())
		}
	})
}

func TestTheOtherBackendsKeepTheRulesEdit(t *testing.T) {
	t.Parallel()
	rule := to("r", path(ir.Prefix, "/"))
	rule.RequestHeaders = set("x", "rule")
	rule.Forward.Backends = []ir.WeightedBackend{{Backend: svc("a"), Weight: 1, RequestHeaders: set("y", "a")}, {Backend: svc("b"), Weight: 1}}
	for _, c := range only(t, rule).GetRoute().GetWeightedClusters().GetClusters() {
		headers := map[string]string{}
		apply(headers, c.GetRequestHeadersToAdd(), c.GetRequestHeadersToRemove())
		if headers["x"] != "rule" {
			t.Errorf("%s gets x %q", c.GetName(), headers["x"])
		}
	}
	if !rule.Forward.Backends[1].RequestHeaders.IsZero() {
		t.Error("translating changed the rule")
	}
}
