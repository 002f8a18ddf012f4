package reply

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ReasonBodyNotFound is the reason of a problem with a reference to a body.
const ReasonBodyNotFound = "ResponseBodyNotFound"

// maxBody is the size of the largest body. Every match of every rule that uses it has a copy.
const maxBody = 32 << 10

// Body is the text of the body in a field of an object in a namespace, empty for none. It returns a problem with a reference, or a message
// about what cannot be served.
func Body(
	v *store.View, objects *store.Objects, namespace, field string, spec *v1alpha1.DirectResponseBody,
) (text string, problem *refs.Problem, message string) {
	switch {
	case spec == nil:
		return "", nil, ""
	case ptr.Deref(spec.Type, v1alpha1.SourceInline) == v1alpha1.SourceInline && spec.Inline != nil:
		return *spec.Inline, nil, checkBody(field+".inline", *spec.Inline)
	case ptr.Deref(spec.Type, v1alpha1.SourceInline) == v1alpha1.SourceValueRef && spec.ValueRef != nil:
		return configMapBody(v, objects, namespace, field+".valueRef", spec.ValueRef)
	default:
		return "", nil, field + " has no text; set inline, or valueRef with type ValueRef"
	}
}

func configMapBody(
	v *store.View, objects *store.Objects, namespace, field string, ref *gwv1.LocalObjectReference,
) (text string, problem *refs.Problem, message string) {
	if ref.Group != "" || ref.Kind != "ConfigMap" {
		return "", nil, fmt.Sprintf("%s has kind %q in group %q; refer to a ConfigMap", field, ref.Kind, ref.Group)
	}
	key := store.Key(namespace, string(ref.Name))
	config, ok := objects.ConfigMaps.Get(v, key)
	if !ok {
		return "", &refs.Problem{
			Reason: ReasonBodyNotFound, Message: fmt.Sprintf("%s: ConfigMap %s does not exist; create it, or correct the name", field, key),
		}, ""
	}
	text, ok = config.Data[store.ResponseBodyKey]
	if !ok {
		return "", &refs.Problem{
			Reason:  ReasonBodyNotFound,
			Message: fmt.Sprintf("%s: ConfigMap %s has no key %s; add it", field, key, store.ResponseBodyKey),
		}, ""
	}
	return text, nil, checkBody(fmt.Sprintf("%s: key %s of ConfigMap %s", field, store.ResponseBodyKey, key), text)
}

func checkBody(field, text string) string {
	switch {
	case len(text) > maxBody:
		return fmt.Sprintf("%s has more than %d bytes; shorten it, or serve it from a backend", field, maxBody)
	case !utf8.ValidString(text):
		return field + " is not UTF-8; encode it so, or serve it from a backend"
	default:
		return ""
	}
}
