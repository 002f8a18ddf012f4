//go:build fuzz

package fuzz

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/store"
)

// TestExpressionsThatPassAreTakenByEnvoy tries what the two dialects differ in most: names of classes, and sizes.
func TestExpressionsThatPassAreTakenByEnvoy(t *testing.T) {
	t.Parallel()
	var expressions []string
	for _, table := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts, unicode.Properties} {
		for name := range table {
			expressions = append(expressions, `\p{`+name+`}`, `\P{`+name+`}`, `\p{^`+name+`}`, `[a\p{`+name+`}]`, `\p{`+strings.ToLower(name)+`}`)
		}
	}
	for name := range unicode.CategoryAliases {
		expressions = append(expressions, `\p{`+name+`}`)
	}
	scattered := "[acegikmoqsuwyACEGIKMOQSUWY02468!$&*,./:;=?@^_~]"
	for n := 10; n <= 1000; n += 30 {
		for _, class := range []string{
			"a", ".", "[a-z]", scattered, "(?i)" + scattered, `\pL`, `\PL`, `[\pL\pN\pS]`, `\W`, "(?:a|b|cd|efg)", "(?:a?b*)", `[[:^alpha:]]`,
		} {
			expressions = append(expressions, fmt.Sprintf("%s{%d}", class, n), fmt.Sprintf("(?:%s{0,%d}x){3}", class, n))
		}
	}
	expressions = append(
		expressions, `\Q\x{100}\E`, `\\x{100}`, `\\p{Nope}`, `[\Q]\E]`, `\Qa`, `\x{7f}`, `\x{80}`, `\x7f`, `\xff`, `\177`, `\377`, `(?i)k`,
		`(?i)[ks]`, `[^a]`, `\C`, `\z`,
	)

	l := newLab(t, fuzzobjects.HostileGateway)
	defer func() { l.close() }()
	var try func(list []string)
	try = func(list []string) {
		err := l.apply(matching(list))
		if err == nil {
			return
		}
		l.close()
		l = newLab(t, fuzzobjects.HostileGateway)
		if len(list) == 1 {
			t.Errorf("%s: we take it, and %v", list[0], err)
			return
		}
		try(list[:len(list)/2])
		try(list[len(list)/2:])
	}
	try(expressions)
	t.Logf("%d expressions", len(expressions))
}

// matching is a Gateway and a route with a rule for each expression.
func matching(expressions []string) []store.Change {
	meta := metav1.ObjectMeta{Namespace: fuzzobjects.HostileGateway.Namespace, Name: fuzzobjects.HostileGateway.Name}
	route := &gwv1.HTTPRoute{ObjectMeta: meta}
	route.Spec.ParentRefs = []gwv1.ParentReference{{Name: gwv1.ObjectName(meta.Name)}}
	for _, e := range expressions {
		route.Spec.Rules = append(route.Spec.Rules, gwv1.HTTPRouteRule{Matches: []gwv1.HTTPRouteMatch{{
			Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchRegularExpression), Value: &e},
		}}})
	}
	set := []store.Change{
		{Kind: store.GatewayClass, Object: &gwv1.GatewayClass{
			ObjectMeta: metav1.ObjectMeta{Name: "ours"}, Spec: gwv1.GatewayClassSpec{ControllerName: class.ControllerName},
		}},
		{Kind: store.Gateway, Object: &gwv1.Gateway{ObjectMeta: meta, Spec: gwv1.GatewaySpec{
			GatewayClassName: "ours", Listeners: []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
		}}},
		{Kind: store.HTTPRoute, Object: route},
	}
	for i := range set {
		set[i].Key = store.KeyOf(set[i].Object)
	}
	return set
}
