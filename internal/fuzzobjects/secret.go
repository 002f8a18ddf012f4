package fuzzobjects

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

func (w Generator) secret() metav1.Object {
	s := &corev1.Secret{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "cert", "other", "users")), Type: corev1.SecretTypeTLS}
	if s.Name == "users" {
		w.credentials(s)
		return s
	}
	pair := KeyPairs()[w.IntN(2)]
	s.Data = map[string][]byte{corev1.TLSCertKey: pair[0], corev1.TLSPrivateKeyKey: pair[1], corev1.ServiceAccountRootCAKey: pair[0]}
	if w.IntN(4) == 0 {
		s.Data[corev1.TLSPrivateKeyKey] = []byte("nonsense")
	}
	return s
}

func (w Generator) configMap() metav1.Object {
	c := &corev1.ConfigMap{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "ca", "other"))}
	c.Labels = pick(w, nil, nil, map[string]string{v1alpha1.PolicyDataLabel: ""})
	c.Data = map[string]string{corev1.ServiceAccountRootCAKey: pick(w, string(KeyPairs()[0][0]), string(KeyPairs()[1][0]), "nonsense")}
	if w.coin() {
		c.Data[store.ResponseBodyKey] = pick(w, "closed", "%REQ(x-a)%", "%BOGUS%")
	}
	c.Data[v1alpha1.JWKSKey] = pick(w, keySet, "nonsense")
	c.Data[v1alpha1.CRLKey] = pick(w, string(Revocations()), "nonsense")
	return c
}

func (w Generator) clusterTrustBundle() metav1.Object {
	b := &certificatesv1.ClusterTrustBundle{ObjectMeta: w.meta("", pick(w, "ca", "other"))}
	b.Spec.TrustBundle = pick(w, string(KeyPairs()[0][0]), string(KeyPairs()[1][0]))
	return b
}

// KeyPairs makes two key pairs, once.
var KeyPairs = sync.OnceValue(func() [][2][]byte {
	var pairs [][2][]byte
	for i := range 2 {
		key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
		if err != nil {
			panic(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), NotBefore: time.Unix(0, 0), NotAfter: time.Date(
			2126, 1, 1, 0, 0, 0, 0, time.UTC,
		), DNSNames: []string{"example.com"}}
		der, err := x509.CreateCertificate(cryptorand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		keyDER, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			panic(err)
		}
		pairs = append(pairs, [2][]byte{
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		})
	}
	return pairs
})
