package refs_test

import (
	"bytes"
	"encoding/pem"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

func TestAuthoritiesBundle(t *testing.T) {
	t.Parallel()
	one, two := authority(t), authority(t)
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
	broken := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))
	contents := map[string]string{
		"infra/one": "# the first\n" + one, "infra/two": key + two + one, "infra/key": key, "infra/broken": one + broken,
		"shared/ca": two, "closed/ca": two,
	}
	objects := resolvetest.Objects(t, `
kind: ReferenceGrant
metadata: {namespace: shared, name: g}
spec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: infra}], to: [{group: "", kind: ConfigMap}]}`)
	for name, text := range contents {
		objects.Apply(store.Change{Kind: store.ConfigMap, Key: name, Object: &corev1.ConfigMap{Data: map[string]string{"ca.crt": text}}})
	}
	objects.Apply(store.Change{Kind: store.ConfigMap, Key: "infra/empty", Object: &corev1.ConfigMap{}})

	objects.Apply(store.Change{Kind: store.ClusterTrustBundle, Key: "example.com:ca:1", Object: &certificatesv1.ClusterTrustBundle{
		Spec: certificatesv1.ClusterTrustBundleSpec{TrustBundle: one},
	}})

	trustBundle := func(name gwv1.ObjectName, namespace *gwv1.Namespace) []gwv1.ObjectReference {
		return []gwv1.ObjectReference{{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle", Name: name, Namespace: namespace}}
	}
	configMap := func(names ...gwv1.ObjectName) []gwv1.ObjectReference {
		var list []gwv1.ObjectReference
		for _, name := range names {
			list = append(list, gwv1.ObjectReference{Kind: "ConfigMap", Name: name})
		}
		return list
	}
	in := func(namespace gwv1.Namespace) []gwv1.ObjectReference {
		return []gwv1.ObjectReference{{Kind: "ConfigMap", Name: "ca", Namespace: &namespace}}
	}
	for _, c := range []struct {
		name   string
		refs   []gwv1.ObjectReference
		bundle string
		reason string
		pem    string
	}{
		{"only certificates are taken", configMap("two"), "ConfigMap/infra/two", "", two + one},
		{
			"the order of references does not matter", configMap("two", "one", "two"), "ConfigMap/infra/one+ConfigMap/infra/two", "",
			one + two + one,
		},
		{"a bad reference does not take a good one with it", configMap("gone", "one"), "ConfigMap/infra/one", "InvalidCACertificateRef", one},
		{"a ConfigMap without the key is named", configMap("empty"), "", "InvalidCACertificateRef", ""},
		{"a text without a certificate is named", configMap("key"), "", "InvalidCACertificateRef", ""},
		{
			"a certificate that cannot be read is named, and the others are used",
			configMap("broken"), "ConfigMap/infra/broken", "InvalidCACertificateRef", one,
		},
		{"another kind is named", []gwv1.ObjectReference{{Kind: "Service", Name: "one"}}, "", "InvalidCACertificateKind", ""},
		{"a ClusterTrustBundle belongs to all", trustBundle("example.com:ca:1", nil), "ClusterTrustBundle//example.com:ca:1", "", one},
		{
			"a ClusterTrustBundle has no namespace", trustBundle("example.com:ca:1", new(gwv1.Namespace("infra"))), "", "InvalidCACertificateRef",
			"",
		},
		{"a ClusterTrustBundle that is missing is named", trustBundle("gone", nil), "", "InvalidCACertificateRef", ""},
		{"a grant opens another namespace", in("shared"), "ConfigMap/shared/ca", "", two},
		{"without a grant it stays closed", in("closed"), "", "RefNotPermitted", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name, problem := refs.AuthoritiesOf(nil, objects, refs.Origin{Kind: "Gateway", Namespace: "infra"}, c.refs)
			if name != c.bundle || (problem == nil) != (c.reason == "") || (problem != nil && problem.Reason != c.reason) {
				t.Fatalf("bundle is %q with %+v", name, problem)
			}
			if name == "" {
				return
			}
			if bundle, problem := refs.AuthoritiesNamed(nil, objects, name); problem != nil || !bytes.Equal(bundle.PEM, []byte(c.pem)) {
				t.Errorf("got %s with %+v", bundle.PEM, problem)
			}
		})
	}
}
