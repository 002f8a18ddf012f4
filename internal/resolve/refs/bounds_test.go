package refs_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// long is an odd number of that many bits.
func long(bits int) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return n.Sub(n.Add(n, n), big.NewInt(1))
}

func encode(t *testing.T, kind string, structure any) string {
	t.Helper()
	der, err := asn1.Marshal(structure)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

type pkcs1 struct {
	Version                  int
	N                        *big.Int
	E                        int
	D, P, Q, Dp, Dq, Inverse *big.Int
}

func longKey(bits int) pkcs1 {
	return pkcs1{
		N:       long(bits),
		E:       65537,
		D:       long(bits),
		P:       long(bits / 2),
		Q:       long(bits / 2),
		Dp:      long(bits / 2),
		Dq:      long(bits / 2),
		Inverse: long(bits / 2),
	}
}

type pkcs8 struct {
	Version   int
	Algorithm pkix.AlgorithmIdentifier
	Key       []byte
}

// longCertificate has the key of an RSA authority with a modulus of that many bits.
func longCertificate(t *testing.T, bits int) string {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &rsa.PublicKey{N: long(bits), E: 65537}, signer)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// keyPairOf is what is said of a Secret with these texts, and how long that took.
func keyPairOf(certificate, key string) (string, time.Duration) {
	objects := store.NewObjects(store.New())
	objects.Apply(store.Change{Kind: store.Secret, Key: "infra/cert", Object: &corev1.Secret{Data: map[string][]byte{
		corev1.TLSCertKey: []byte(certificate), corev1.TLSPrivateKeyKey: []byte(key),
	}}})
	begin := time.Now()
	_, problem := refs.KeyPair(nil, objects, "infra/cert")
	if problem == nil {
		return "", time.Since(begin)
	}
	return problem.Message, time.Since(begin)
}

func TestKeyPairsAreBoundedBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	good := fuzzobjects.HostileKeyPairs()[0]
	certificate, key := string(good.Certificate), string(good.Key)
	inner, err := asn1.Marshal(longKey(60_000))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, certificate, key, want string }{
		{"a key of 60,000 bits", certificate, encode(t, "RSA PRIVATE KEY", longKey(60_000)), "more than 16384 bits"},
		{
			"the same in PKCS 8", certificate,
			encode(t, "PRIVATE KEY", pkcs8{Algorithm: pkix.AlgorithmIdentifier{
				Algorithm:  asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1},
				Parameters: asn1.NullRawValue,
			}, Key: inner}),
			"more than 16384 bits",
		},
		{"a text that is too long for a key", certificate, encode(t, "RSA PRIVATE KEY", longKey(1_000_000)), "tls.key: it has"},
		{"a certificate of 100,000 bits", longCertificate(t, 100_000), key, "an RSA key of 100000 bits is too long"},
		{"one behind the first", certificate + longCertificate(t, 20_000), key, "certificate 2: an RSA key of 20000 bits is too long"},
		{"many certificates", strings.Repeat(authority(t), 201), key, "more than 200 certificates"},
		{"many more certificates", strings.Repeat(authority(t), 5_000), key, "bytes, and 262144 are allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, took := keyPairOf(c.certificate, c.key)
			if !strings.Contains(got, c.want) {
				t.Errorf("it is said %.300q, want %q", got, c.want)
			}
			// It takes milliseconds, on a busy machine as well.
			if took > time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
	if got, _ := keyPairOf(strings.Repeat(certificate, 150), key); got != "" {
		t.Errorf("150 certificates are refused: %s", got)
	}
}

func TestBundlesOfAuthoritiesAreBounded(t *testing.T) {
	t.Parallel()
	small := authority(t)
	large := longCertificate(t, 16_000)
	half := strings.Repeat(large, 600_000/len(large))
	for name, c := range map[string]struct{ text, want string }{
		"a long key":        {longCertificate(t, 100_000), "an RSA key of 100000 bits is too long"},
		"many certificates": {strings.Repeat(small, 1_001), "more than 1000 certificates"},
		"a long text":       {strings.Repeat("#", 1<<20+1), "bytes, and 1048576 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := store.NewObjects(store.New())
			apply(objects, "ca", c.text)
			_, problem := refs.Authorities(nil, objects, refs.Target{Kind: "ConfigMap", Namespace: "app", Name: "ca"})
			if problem == nil || !strings.Contains(problem.Message, c.want) {
				t.Errorf("problem is %+v, want it to say %q", problem, c.want)
			}
		})
	}
	objects := store.NewObjects(store.New())
	apply(objects, "a", half)
	apply(objects, "b", half)
	apply(objects, "c", small)
	ref := func(name gwv1.ObjectName) gwv1.ObjectReference {
		return gwv1.ObjectReference{Kind: "ConfigMap", Name: name}
	}
	bundle, problem := refs.AuthoritiesOf(
		nil,
		objects,
		refs.Origin{Kind: "BackendTLSPolicy", Namespace: "app"},
		[]gwv1.ObjectReference{ref("a"), ref("b"), ref("c")},
	)
	if bundle != "ConfigMap/app/a+ConfigMap/app/c" || problem == nil || !strings.Contains(problem.Message, "ConfigMap b have no room") {
		t.Errorf("the bundle is %q, and the problem %+v", bundle, problem)
	}
}

func apply(objects *store.Objects, name, text string) {
	objects.Apply(store.Change{Kind: store.ConfigMap, Key: "app/" + name, Object: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}, Data: map[string]string{"ca.crt": text},
	}})
}
