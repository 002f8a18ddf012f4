package refs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// Certificate follows a reference to a Secret and returns its key pair.
func Certificate(v *store.View, objects *store.Objects, from Origin, ref gwv1.SecretObjectReference) (ir.Certificate, *Problem) {
	if group, kind := valueOr(ref.Group, coreGroup), valueOr(ref.Kind, "Secret"); group != coreGroup || kind != "Secret" {
		return ir.Certificate{}, &Problem{
			Reason:  string(gwv1.ListenerReasonInvalidCertificateRef),
			Message: fmt.Sprintf("certificate %s has kind %q in group %q, which is not served; refer to a Secret", ref.Name, kind, group),
		}
	}
	target := Target{Kind: "Secret", Namespace: valueOr(ref.Namespace, from.Namespace), Name: string(ref.Name)}
	key := store.Key(target.Namespace, target.Name)
	if !Permitted(v, objects, from, target) {
		return ir.Certificate{}, &Problem{
			Reason: string(gwv1.ListenerReasonRefNotPermitted),
			Message: fmt.Sprintf("no ReferenceGrant in namespace %s allows a %s of namespace %s to refer to Secret %s",
				target.Namespace, from.Kind, from.Namespace, key),
		}
	}
	return KeyPair(v, objects, key)
}

// KeyPair reads the key pair of a Secret. The caller has checked that the reference is permitted.
func KeyPair(v *store.View, objects *store.Objects, key string) (ir.Certificate, *Problem) {
	secret, ok := tlsSecret(v, objects, key)
	if !ok {
		return ir.Certificate{}, &Problem{
			Reason:  string(gwv1.ListenerReasonInvalidCertificateRef),
			Message: fmt.Sprintf("there is no Secret %s of type %s; create it, or correct the reference", key, corev1.SecretTypeTLS),
		}
	}
	pair, err := parseKeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return ir.Certificate{}, &Problem{
			Reason:  string(gwv1.ListenerReasonInvalidCertificateRef),
			Message: fmt.Sprintf("Secret %s does not hold a usable key pair: %v", key, err),
		}
	}
	return ir.Certificate{
		Name: key, NotBefore: pair.leaf.NotBefore, NotAfter: pair.leaf.NotAfter, CertificatePEM: pair.chain, PrivateKeyPEM: pair.key,
	}, nil
}
