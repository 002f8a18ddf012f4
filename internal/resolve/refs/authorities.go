package refs

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// HoldsAuthorities says whether certificates of authorities are read from this kind of object.
func HoldsAuthorities(group, kind string) bool {
	return group == coreGroup && (kind == "ConfigMap" || kind == "Secret")
}

// Authorities reads the certificates of authorities in `ca.crt` of a ConfigMap or Secret, as PEM that holds nothing else. Whoever calls
// it has checked that the reference is permitted and leads to an object that [HoldsAuthorities].
func Authorities(v *store.View, objects *store.Objects, target Target) ([]byte, *Problem) {
	key := store.Key(target.Namespace, target.Name)
	var text []byte
	var found bool
	described := target.Kind + " " + key
	if target.Kind == "Secret" {
		// Only these are cached.
		described += " of type " + string(corev1.SecretTypeTLS)
		var secret *corev1.Secret
		if secret, found = objects.Secrets.Get(v, key); found {
			text = secret.Data[corev1.ServiceAccountRootCAKey]
		}
	} else {
		var config *corev1.ConfigMap
		if config, found = objects.ConfigMaps.Get(v, key); found {
			text = []byte(config.Data[corev1.ServiceAccountRootCAKey])
		}
	}
	if !found {
		return nil, &Problem{Reason: reasonInvalidAuthorities, Message: fmt.Sprintf("there is no %s", described)}
	}
	bundle, err := parseAuthorities(text)
	if err != nil {
		return nil, &Problem{
			Reason:  reasonInvalidAuthorities,
			Message: fmt.Sprintf("%s does not hold usable certificates in %s: %v", described, corev1.ServiceAccountRootCAKey, err),
		}
	}
	return bundle, nil
}

// reasonInvalidAuthorities is the same word for a policy and for a listener.
const reasonInvalidAuthorities = string(gwv1.BackendTLSPolicyReasonInvalidCACertificateRef)

var errNoCertificate = errors.New("it has no PEM block of type CERTIFICATE")

// parseAuthorities keeps the certificates and nothing else, so that neither a stray private key nor a comment goes to a proxy.
func parseAuthorities(text []byte) ([]byte, error) {
	var bundle []byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, err
		}
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	if len(bundle) == 0 {
		return nil, errNoCertificate
	}
	return bundle, nil
}
