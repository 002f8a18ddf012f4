package proxyconfig

import (
	"fmt"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// Missing is the message for a parametersRef whose ProxyConfig does not exist.
func Missing(key string) string {
	return fmt.Sprintf("parametersRef names ProxyConfig %s, which does not exist; create it, and install the CRDs of Gatewright if they "+
		"are missing", key)
}

// Unreadable is the message for a parametersRef whose ProxyConfig cannot be decoded, empty if it can.
func Unreadable(config *v1alpha1.ProxyConfig) string {
	reason := store.Unreadable(config)
	if reason == "" {
		return ""
	}
	return fmt.Sprintf("parametersRef names ProxyConfig %s, which cannot be read: %s; correct it", store.KeyOf(config), reason)
}
