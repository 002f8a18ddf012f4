package watch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// TestFieldsThatATypeDoesNotKnowAreMarked: without the mark, a rule that is to allow some clients by a field of a newer definition allows
// more than those.
func TestFieldsThatATypeDoesNotKnowAreMarked(t *testing.T) {
	t.Parallel()
	rule := func(more string) string {
		return `{"authorization":{"rules":[{"action":"Allow","principal":{"clientCIDRs":["10.0.0.0/8"]` + more + `}}]}}`
	}
	for _, c := range []struct {
		name, spec, metadata, status string
		want                         []string
	}{
		{name: "every field is known", spec: rule("")},
		{name: "a condition", spec: rule(`,"sni":["a"]`), want: []string{"spec.authorization.rules[0].principal.sni"}},
		{name: "a setting", spec: `{"waf":{}}`, want: []string{"spec.waf"}},
		{name: "another case of letters", spec: `{"CORS":{}}`, want: []string{"spec.CORS"}},
		{name: "annotations stay", spec: `{"waf":{}}`, metadata: `,"annotations":{"a":"b"},"labels":{"c":"d"}`, want: []string{"spec.waf"}},
		{name: "fields of a newer Kubernetes and a newer status", spec: rule(""), metadata: `,"later":1`, status: `{"later":1}`},
		{
			name: "beside a status that cannot be read", spec: `{"waf":{}}`, status: `{"conditions":[{"lastTransitionTime":"x"}]}`,
			want: []string{"spec.waf"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.status == "" {
				c.status = "{}"
			}
			object := fmt.Sprintf(`{"apiVersion":"gatewright.dev/v1alpha1","kind":"SecurityPolicy","metadata":{"namespace":"a","name":"p",`+
				`"generation":2%s},"spec":%s,"status":%s}`, c.metadata, c.spec, c.status)
			g := guardFor(t)
			var read v1alpha1.SecurityPolicyList
			list := strings.Replace(listOf(object), "ProxyConfigList", "SecurityPolicyList", 1)
			if err := json.Unmarshal([]byte(answer(t, g, "/apis/gatewright.dev/v1alpha1/securitypolicies", list)), &read); err != nil {
				t.Fatal(err)
			}
			p := &read.Items[0]
			if got := store.UnknownFields(p); !slices.Equal(got, c.want) {
				t.Errorf("marked are %q, want %q", got, c.want)
			}
			if store.Unreadable(p) != "" || p.Name != "p" || p.Generation != 2 ||
				strings.Contains(c.spec, "Allow") != (p.Spec.Authorization != nil) {
				t.Errorf("the object is %+v", p)
			}
			if strings.Contains(c.metadata, "labels") && (p.Annotations["a"] != "b" || p.Labels["c"] != "d") {
				t.Errorf("the metadata is %+v", p.ObjectMeta)
			}
			if n := testutil.ToFloat64(g.unreadable.WithLabelValues("SecurityPolicy", "unknown fields")); n != float64(min(1, len(c.want))) {
				t.Errorf("%v objects are counted", n)
			}
		})
	}
}

// TestOtherKindsAreNotMarked: a GatewayClass reports definitions of the Gateway API that are not supported.
func TestOtherKindsAreNotMarked(t *testing.T) {
	t.Parallel()
	object := `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r"},"spec":{"later":1}}`
	list := `{"kind":"HTTPRouteList","items":[` + object + `]}`
	if got := answer(t, guardFor(t), "/apis/gateway.networking.k8s.io/v1/httproutes", list); got != list {
		t.Errorf("got %s", got)
	}
}
