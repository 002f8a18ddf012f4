package refs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// Credential reads a credential by its name. The caller has checked that the reference is permitted. It is false where there is none.
func Credential(v *store.View, objects *store.Objects, name string) (ir.Credential, bool) {
	key, use, ok := ir.ParseCredential(name)
	if !ok {
		return ir.Credential{}, false
	}
	secret, ok := objects.Secrets.Get(v, key)
	if !ok {
		return ir.Credential{}, false
	}
	field := v1alpha1.OIDCClientSecretKey
	if use == ir.Injected {
		field = v1alpha1.InjectedCredentialKey
	}
	value := strings.TrimSpace(string(secret.Data[field]))
	if value == "" {
		return ir.Credential{}, false
	}
	if use == ir.CookieKey {
		// All proxies need the same key, and no other place to keep one is needed: who knows the client secret can log in anyway.
		sum := hmac.New(sha256.New, []byte(value))
		_, _ = sum.Write([]byte("gatewright cookie key of " + key))
		value = hex.EncodeToString(sum.Sum(nil))
	}
	return ir.Credential{Name: name, Value: ir.Sensitive(value)}, true
}
