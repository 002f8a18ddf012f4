package refs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestAuthorities(t *testing.T) {
	t.Parallel()
	a, b := authority(t), authority(t)
	stray := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secret")}))
	broken := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("nonsense")}))
	for _, c := range []struct {
		name, kind, text string
		want, problem    string
	}{
		{"a ConfigMap holds a bundle", "ConfigMap", a + b, a + b, ""},
		{"a TLS Secret holds a bundle", "Secret", a, a, ""},
		{"comments and keys stay behind", "ConfigMap", "# root\n" + a + stray + "trailing", a, ""},
		{"an empty value is no bundle", "ConfigMap", "", "", "no PEM block"},
		{"text that is not PEM is no bundle", "ConfigMap", "nonsense", "", "no PEM block"},
		{"one broken certificate is left out and named", "ConfigMap", a + broken + b, a + b, "left out: certificate 2:"},
		{"nothing but broken certificates is no bundle", "ConfigMap", broken + broken, "", "usable certificates in ca.crt: certificate 1:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects := store.NewObjects(store.New())
			meta := metav1.ObjectMeta{Namespace: "app", Name: "ca"}
			objects.Apply(
				store.Change{
					Kind:   store.ConfigMap,
					Key:    "app/ca",
					Object: &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"ca.crt": c.text}},
				},
			)
			objects.Apply(
				store.Change{
					Kind:   store.Secret,
					Key:    "app/ca",
					Object: &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"ca.crt": []byte(c.text)}},
				},
			)
			got, problem := refs.Authorities(nil, objects, refs.Target{Kind: c.kind, Namespace: "app", Name: "ca"})
			switch {
			case c.problem == "" && problem != nil:
				t.Errorf("problem: %s", problem.Message)
			case c.problem != "" && (problem == nil || problem.Reason != "InvalidCACertificateRef" || !strings.Contains(problem.Message, c.problem)):
				t.Errorf("problem is %+v, want it to say %q", problem, c.problem)
			}
			if !bytes.Equal(got, []byte(c.want)) {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
	t.Run("a ConfigMap may hold it as binary data", func(t *testing.T) {
		t.Parallel()
		objects := store.NewObjects(store.New())
		config := &corev1.ConfigMap{BinaryData: map[string][]byte{"ca.crt": []byte(a)}}
		objects.Apply(store.Change{Kind: store.ConfigMap, Key: "app/ca", Object: config})
		got, problem := refs.Authorities(nil, objects, refs.Target{Kind: "ConfigMap", Namespace: "app", Name: "ca"})
		if problem != nil || string(got) != a {
			t.Errorf("got %q, problem %+v", got, problem)
		}
	})
	t.Run("what does not exist is named", func(t *testing.T) {
		t.Parallel()
		_, problem := refs.Authorities(nil, store.NewObjects(store.New()), refs.Target{Kind: "ConfigMap", Namespace: "app", Name: "ca"})
		if problem == nil || !strings.Contains(problem.Message, "no ConfigMap app/ca") {
			t.Errorf("problem is %+v", problem)
		}
	})
}
