package watch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// readOne passes one object of a kind through a guard, and reads it into a list.
func readOne(t *testing.T, kind store.Kind, spec string, list any) {
	t.Helper()
	d, _ := store.DescriptorOf(kind)
	object := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"a","name":"o","labels":{"l":"v"}},"spec":%s}`,
		d.APIVersion(), kind, spec)
	body := answer(t, guardFor(t), "/apis/"+d.APIVersion()+"/"+d.Resource, fmt.Sprintf(`{"kind":"%sList","items":[%s]}`, kind, object))
	if err := json.Unmarshal([]byte(body), list); err != nil {
		t.Fatalf("the list cannot be read: %v", err)
	}
}

// TestMatchesOfARouteThatCannotBeReadAreKept: it answers errors for them.
func TestMatchesOfARouteThatCannotBeReadAreKept(t *testing.T) {
	t.Parallel()
	const attached = `"parentRefs":[{"name":"gw"}],"hostnames":["a.example"]`
	const large = `"backendRefs":[{"name":"s","port":5000000000}]`
	for _, c := range []struct {
		name, spec             string
		hostnames, rules, path int
	}{
		{"a rule", `{` + attached + `,"rules":[{"matches":[{"path":{"value":"/admin"}}],` + large + `},{"timeouts":{}}]}`, 1, 2, 1},
		{"a match", `{` + attached + `,"rules":[{"matches":[{"path":{"value":7}}]}]}`, 1, 0, 0},
		{"rules that are none", `{` + attached + `,"rules":7}`, 1, 0, 0},
		{"hostnames", `{"parentRefs":[{"name":"gw"}],"hostnames":[7],"rules":[{` + large + `}]}`, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var read gwv1.HTTPRouteList
			readOne(t, store.HTTPRoute, c.spec, &read)
			r := &read.Items[0]
			paths := 0
			for _, rule := range r.Spec.Rules {
				paths += len(rule.Matches)
				if len(rule.BackendRefs) > 0 {
					t.Errorf("backends are there: %+v", rule)
				}
			}
			if store.Unreadable(r) == "" || len(r.Spec.Hostnames) != c.hostnames || len(r.Spec.Rules) != c.rules || paths != c.path {
				t.Errorf("there is %+v", r.Spec)
			}
		})
	}
}

func TestHostnamesOfAListenerSetThatCannotBeReadAreKept(t *testing.T) {
	t.Parallel()
	var read gwv1.ListenerSetList
	readOne(t, store.ListenerSet, `{"parentRef":{"name":"gw"},"listeners":[{"name":"l","port":80,"protocol":"HTTP","hostname":"a.example",`+
		`"filters":{"requests":[{"type":"ExternalAuth","externalAuth":{"backendRef":{"name":"s","port":5000000000}}}]}}]}`, &read)
	if s := &read.Items[0]; store.Unreadable(s) == "" || len(s.Spec.Listeners) != 1 || *s.Spec.Listeners[0].Hostname != "a.example" {
		t.Errorf("there is %+v", s.Spec)
	}
}

// TestFieldsThatCannotBeReadAreMarked: kinds that know what to make of unknown fields go on with the others.
func TestFieldsThatCannotBeReadAreMarked(t *testing.T) {
	t.Parallel()
	var read v1alpha1.BackendTrafficPolicyList
	readOne(t, store.BackendTrafficPolicy, `{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"r"}],`+
		`"timeout":{"http":{"requestTimeout":"10s"}},"rateLimit":{"global":{"rules":7}},"later":1}`, &read)
	p := &read.Items[0]
	if got := store.UnknownFields(p); !slices.Equal(got, []string{"spec.rateLimit", "spec.later"}) {
		t.Errorf("marked are %q", got)
	}
	if store.Unreadable(p) != "" || len(p.Spec.TargetRefs) != 1 || p.Spec.Timeout == nil || p.Spec.RateLimit != nil || p.Labels["l"] != "v" {
		t.Errorf("there is %+v", p)
	}
	var newer v1alpha1.BackendTrafficPolicyList
	readOne(t, store.BackendTrafficPolicy,
		`{"rateLimit":{"local":{"rules":[{"limit":{"requests":1,"unit":"Hour"},"later":1}]},"later":{"rules":[]}}}`, &newer)
	p = &newer.Items[0]
	if got := store.UnknownFields(p); !slices.Equal(got, []string{"spec.rateLimit.local.rules[0].later", "spec.rateLimit.later"}) ||
		p.Spec.RateLimit == nil || p.Spec.RateLimit.Local == nil {
		t.Errorf("marked are %q, and there is %+v", got, p.Spec.RateLimit)
	}
	var whole v1alpha1.BackendTrafficPolicyList
	readOne(t, store.BackendTrafficPolicy, `7`, &whole)
	if reason := store.Unreadable(&whole.Items[0]); !strings.Contains(reason, "spec") {
		t.Errorf("a spec that is none: %q", reason)
	}
}
