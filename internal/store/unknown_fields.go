package store

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unknownFields is an annotation of objects with fields that their Go type does not know. No API server takes such a name, so no tenant can
// write it.
const unknownFields = "gatewright.dev/unknown fields"

// WithUnknownFields are annotations that also name fields by their paths.
func WithUnknownFields(annotations map[string]string, paths []string) map[string]string {
	marked := maps.Clone(annotations)
	if marked == nil {
		marked = map[string]string{}
	}
	marked[unknownFields] = strings.Join(paths, "\n")
	return marked
}

// UnknownFields are the paths of fields of an object that its Go type does not know, such as `spec.authorization.rules[0].principal.sni`. A
// newer definition has them. What they mean is not known: a rule may match less than what can be read of it.
func UnknownFields(object metav1.Object) []string {
	paths := object.GetAnnotations()[unknownFields]
	if paths == "" {
		return nil
	}
	return strings.Split(paths, "\n")
}
