package refs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// Secret follows a reference to a Secret, whatever is in it.
func Secret(v *store.View, objects *store.Objects, from Origin, ref gwv1.SecretObjectReference) (*corev1.Secret, *Problem) {
	if group, kind := valueOr(ref.Group, coreGroup), valueOr(ref.Kind, "Secret"); group != coreGroup || kind != "Secret" {
		return nil, &Problem{
			Reason:  string(gwv1.RouteReasonInvalidKind),
			Message: fmt.Sprintf("%s has kind %q in group %q, which is not served; refer to a Secret", ref.Name, kind, group),
		}
	}
	target := Target{Kind: "Secret", Namespace: valueOr(ref.Namespace, from.Namespace), Name: string(ref.Name)}
	key := store.Key(target.Namespace, target.Name)
	if !Permitted(v, objects, from, target) {
		return nil, &Problem{
			Reason: string(gwv1.RouteReasonRefNotPermitted),
			Message: fmt.Sprintf("no ReferenceGrant in namespace %s allows a %s of namespace %s to refer to Secret %s; add one there",
				target.Namespace, from.Kind, from.Namespace, key),
		}
	}
	secret, ok := objects.Secrets.Get(v, key)
	if !ok {
		return nil, &Problem{Reason: "SecretNotFound", Message: fmt.Sprintf("there is no Secret %s; create it, or correct the name", key)}
	}
	return secret, nil
}

// tlsSecret finds a Secret that may have certificates. Those of other types have passwords and API keys.
func tlsSecret(v *store.View, objects *store.Objects, key string) (*corev1.Secret, bool) {
	secret, ok := objects.Secrets.Get(v, key)
	if ok && secret.Type != "" && secret.Type != corev1.SecretTypeTLS {
		return nil, false
	}
	return secret, ok
}
