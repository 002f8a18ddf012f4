package refs

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// certificatesGroup is the API group of ClusterTrustBundles.
const certificatesGroup = "certificates.k8s.io"

// HoldsAuthorities says whether certificates of authorities are read from this kind of object.
func HoldsAuthorities(group, kind string) bool {
	return group == coreGroup && (kind == "ConfigMap" || kind == "Secret") || clusterWide(group, kind)
}

// clusterWide says whether objects of this kind belong to no namespace, so that all namespaces may refer to them.
func clusterWide(group, kind string) bool {
	return group == certificatesGroup && kind == string(store.ClusterTrustBundle)
}

// Authorities reads the certificates of authorities in `ca.crt` of a ConfigMap or Secret, or in a ClusterTrustBundle, as PEM that holds
// nothing else. Certificates that cannot be read are left out: a problem beside certificates says which, one without them that none is
// left. Callers have checked that the reference is permitted and leads to an object that [HoldsAuthorities].
func Authorities(v *store.View, objects *store.Objects, target Target) ([]byte, *Problem) {
	s := authoritiesIn(v, objects, target)
	if !s.found {
		return nil, &Problem{Reason: reasonInvalidAuthorities, Message: "there is no " + s.name}
	}
	bundle, err := parseAuthorities(s.text)
	switch {
	case err == nil:
		return bundle, nil
	case bundle == nil:
		return nil, &Problem{
			Reason:  reasonInvalidAuthorities,
			Message: fmt.Sprintf("%s does not hold usable certificates in %s: %v", s.name, s.field, err),
		}
	default:
		return bundle, &Problem{
			Reason:  reasonInvalidAuthorities,
			Message: fmt.Sprintf("a part of %s of %s cannot be read and is left out: %v; the other certificates are used", s.field, s.name, err),
		}
	}
}

// source is an object that should hold certificates, and what people call it and the field they are in.
type source struct {
	name, field string
	text        []byte
	found       bool
}

func authoritiesIn(v *store.View, objects *store.Objects, target Target) source {
	key := store.Key(target.Namespace, target.Name)
	s := source{name: target.Kind + " " + key, field: corev1.ServiceAccountRootCAKey}
	switch store.Kind(target.Kind) {
	case store.Secret:
		// Others have passwords and API keys.
		s.name += " of type " + string(corev1.SecretTypeTLS)
		var secret *corev1.Secret
		if secret, s.found = tlsSecret(v, objects, key); s.found {
			s.text = secret.Data[s.field]
		}
	case store.ClusterTrustBundle:
		s.field = "spec.trustBundle"
		var bundle *certificatesv1.ClusterTrustBundle
		if bundle, s.found = objects.ClusterTrustBundles.Get(v, key); s.found {
			s.text = []byte(bundle.Spec.TrustBundle)
		} else {
			s.name += ", or the cluster does not serve that kind"
		}
	default:
		var config *corev1.ConfigMap
		if config, s.found = objects.ConfigMaps.Get(v, key); s.found {
			s.text = textOf(config, s.field)
		}
	}
	return s
}

// textOf is a key of a ConfigMap, which has it in one of the two.
func textOf(config *corev1.ConfigMap, key string) []byte {
	if text, ok := config.Data[key]; ok {
		return []byte(text)
	}
	return config.BinaryData[key]
}

// reasonInvalidAuthorities is the same word for a policy and for a listener.
const reasonInvalidAuthorities = string(gwv1.BackendTLSPolicyReasonInvalidCACertificateRef)

var errNoCertificate = errors.New("it has no PEM block of type CERTIFICATE")

// parseAuthorities keeps the certificates and nothing else, so that neither a stray private key nor a comment goes to a proxy. Bundles of
// large organizations hold certificates that Go cannot read, such as one with a negative serial number. Those are left out, and the first
// is named by the error.
func parseAuthorities(text []byte) ([]byte, error) {
	if err := checkSize(text, maxBundle); err != nil {
		return nil, err
	}
	var bundle []byte
	var unread error
	number := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if number++; number > maxAuthorities {
			return nil, fmt.Errorf("it has more than %d certificates", maxAuthorities)
		}
		if err := checkAuthority(block.Bytes); err != nil {
			if unread == nil {
				unread = fmt.Errorf("certificate %d: %w", number, err)
			}
			continue
		}
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	if number == 0 {
		return nil, errNoCertificate
	}
	return bundle, unread
}

func checkAuthority(der []byte) error {
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	return checkPublicKey(certificate.PublicKey)
}
