package refs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// smallestRSA is the size of the smallest RSA key that Envoy's QUIC supports, in bits.
const smallestRSA = 2048

// SupportsQUIC says whether Envoy's QUIC supports the key of a usable key pair: RSA with 2048 bits or more, or ECDSA P-256.
func SupportsQUIC(v *store.View, objects *store.Objects, key string) bool {
	secret, ok := objects.Secrets.Get(v, key)
	if !ok {
		return false
	}
	pair, err := parseKeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return false
	}
	switch public := pair.leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		return public.Size()*8 >= smallestRSA
	case *ecdsa.PublicKey:
		return public.Curve == elliptic.P256()
	default:
		return false
	}
}
