package refs_test

import (
	"crypto/tls"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// unusable has what is said of each bad key pair; the others are good. `make fuzz` asks Envoy the same.
var unusable = map[string]string{
	"P-224":                                  "curve P-224 is not served; use P-256, P-384 or P-521",
	"RSA 1024":                               "an RSA key of 1024 bits is too weak; use 2048 or more",
	"for signing certificates":               "the key usage of the certificate lacks digitalSignature",
	"for key agreement":                      "the key usage of the certificate lacks digitalSignature",
	"the key of another":                     "tls.key is not the key of the first certificate in tls.crt",
	"the key of another kind":                "tls.key is not the key of the first certificate in tls.crt",
	"a chain in the wrong order":             "the certificate of the server comes first",
	"a broken certificate behind a good one": "tls.crt: certificate 2 cannot be read",
	"a half certificate behind a good one":   "tls.crt: a certificate is not complete",
	"two keys, the wrong one first":          "tls.key is not the key of the first certificate in tls.crt",
	"indented":                               "tls.crt: a certificate is not complete, or not PEM",
	"an X509 CERTIFICATE":                    "tls.crt: it has no PEM block of type CERTIFICATE",
	"a TRUSTED CERTIFICATE":                  "tls.crt: it has no PEM block of type CERTIFICATE",
	"a key with a password":                  "tls.key: the key is protected with a password",
	"a key with a password in PKCS 8":        "tls.key: the key is protected with a password",
	"DER":                                    "tls.crt: it has no PEM block of type CERTIFICATE",
	"a byte order mark":                      "tls.crt: a certificate is not complete, or not PEM",
	"empty":                                  "tls.crt: it has no PEM block of type CERTIFICATE",
	"nonsense":                               "tls.crt: it has no PEM block of type CERTIFICATE",
	"no key":                                 "tls.key: it has no PEM block of type PRIVATE KEY",
	"no certificate":                         "tls.crt: it has no PEM block of type CERTIFICATE",
}

func TestKeyPair(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, pair := range fuzzobjects.HostileKeyPairs() {
		known[pair.Name] = true
		t.Run(pair.Name, func(t *testing.T) {
			t.Parallel()
			objects := store.NewObjects(store.New())
			objects.Apply(store.Change{Kind: store.Secret, Key: "infra/cert", Object: &corev1.Secret{Data: map[string][]byte{
				corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key,
			}}})
			got, problem := refs.KeyPair(nil, objects, "infra/cert")
			want, bad := unusable[pair.Name]
			switch {
			case !bad && problem != nil:
				t.Errorf("problem: %s", problem.Message)
			case !bad:
				if _, err := tls.X509KeyPair(got.CertificatePEM, got.PrivateKeyPEM); err != nil {
					t.Errorf("what is handed on: %v", err)
				}
				if strings.Count(string(got.PrivateKeyPEM), "-----BEGIN PRIVATE KEY-----") != 1 ||
					strings.Contains(string(got.CertificatePEM), "PRIVATE") {
					t.Error("what is handed on holds more than a chain and a key")
				}
			case problem == nil || problem.Reason != "InvalidCertificateRef" || !strings.Contains(problem.Message, want):
				t.Errorf("problem is %+v, want it to say %q", problem, want)
			}
		})
	}
	for name := range unusable {
		if !known[name] {
			t.Errorf("there is no key pair %q", name)
		}
	}
}
