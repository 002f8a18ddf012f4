package refs_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

func TestWithRevocations(t *testing.T) {
	t.Parallel()
	objects := resolvetest.Objects(t, "")
	for _, list := range fuzzobjects.HostileRevocations() {
		key := "infra/" + strings.ReplaceAll(list.Name, " ", "-")
		objects.Apply(store.Change{Kind: store.Secret, Key: key, Object: &corev1.Secret{
			Type: corev1.SecretTypeOpaque, Data: map[string][]byte{v1alpha1.CRLKey: list.PEM},
		}})
	}
	objects.Apply(store.Change{Kind: store.ConfigMap, Key: "infra/ca", Object: &corev1.ConfigMap{
		Data: map[string]string{corev1.ServiceAccountRootCAKey: authority(t)},
	}})
	secret := func(names ...gwv1.ObjectName) (list []gwv1.ObjectReference) {
		for _, name := range names {
			list = append(list, gwv1.ObjectReference{Kind: "Secret", Name: name})
		}
		return list
	}
	for _, c := range []struct {
		name string
		refs []gwv1.ObjectReference
		// lists is how many there are, 0 where the references cannot be used for the reason that message has.
		lists   int
		message string
	}{
		{"one list", secret("one"), 1, ""},
		{"lists of several Secrets", secret("two", "one"), 3, ""},
		{"nothing but the lists", secret("a-certificate-before-the-list", "a-key-before-the-list"), 2, ""},
		{"nothing behind a list", secret("more-behind-the-list"), 1, ""},
		{"a missing list", secret("one", "none"), 0, "there is no Secret infra/none"},
		{"a broken list", secret("a-broken-one-behind-a-good-one"), 0, "list 2"},
		{"no list", secret("a-certificate"), 0, "no PEM block of type X509 CRL"},
		{"an extension twice", secret("an-extension-twice"), 0, "an extension twice"},
		{"a distribution point that is none", secret("a-distribution-point-that-is-none"), 0, "distribution point"},
		{"a kind that has no lists", []gwv1.ObjectReference{{Kind: "Service", Name: "one"}}, 0, "refer to a ConfigMap or a Secret"},
		{
			"another namespace",
			[]gwv1.ObjectReference{{Kind: "Secret", Name: "one", Namespace: new(gwv1.Namespace("other"))}},
			0,
			"no ReferenceGrant in namespace other",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := refs.Origin{Group: v1alpha1.GroupName, Kind: "ClientTrafficPolicy", Namespace: "infra"}
			name, problem := refs.WithRevocations(nil, objects, from, "ConfigMap/infra/ca", c.refs)
			if c.message != "" {
				if problem == nil || name != "" || !strings.Contains(problem.Message, c.message) {
					t.Errorf("%q, %+v, want %q", name, problem, c.message)
				}
				return
			}
			if problem != nil {
				t.Fatal(problem.Message)
			}
			bundle, problem := refs.AuthoritiesNamed(nil, objects, name)
			if problem != nil {
				t.Fatal(problem.Message)
			}
			text := string(bundle.Revocations)
			if got := strings.Count(text, "BEGIN X509 CRL"); got != c.lists || strings.Count(text, "BEGIN ") != got || len(bundle.PEM) == 0 {
				t.Errorf("%s has %d lists, want %d", name, got, c.lists)
			}
		})
	}
}
