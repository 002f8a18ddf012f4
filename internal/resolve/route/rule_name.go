package route

import (
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// ruleName is the name of a rule, empty if it has none.
func ruleName(name *gwv1.SectionName) string {
	if name == nil {
		return ""
	}
	return string(*name)
}

// ObjectOf returns the object that a rule comes from, by the name of the rule.
func ObjectOf(rule string) (store.Kind, string, bool) {
	parts := strings.Split(rule, "/")
	if len(parts) < 3 {
		return "", "", false
	}
	return store.Kind(parts[0]), store.Key(parts[1], parts[2]), true
}
