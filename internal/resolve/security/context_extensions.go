package security

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// Context extensions are a part of each route that has them, so they are bounded: their number, and the bytes of all values together.
const (
	maxContextExtensions = 16
	maxContextValues     = 4096
)

// contextExtensions are what an authorization server sees beside each request, sorted by name. What is said of a value has no part of it.
func (r *resolver) contextExtensions(list []v1alpha1.ContextExtension) []ir.ContextValue {
	if len(list) > maxContextExtensions {
		r.fail("extAuth.contextExtensions: there are %d, and %d are allowed; remove some", len(list), maxContextExtensions)
		return nil
	}
	var values []ir.ContextValue
	for i := range list {
		e := &list[i]
		if slices.ContainsFunc(values, func(known ir.ContextValue) bool { return known.Name == e.Name }) {
			r.fail("extAuth.contextExtensions: there are two of the name %q; rename one", e.Name)
		}
		field := fmt.Sprintf("extAuth.contextExtensions[%d]", i)
		isRef := e.Type != nil && *e.Type == v1alpha1.ContextExtensionValueRef
		switch {
		case !isRef && e.Value != nil && e.ValueRef == nil:
			values = append(values, ir.ContextValue{Name: e.Name, Value: ir.Sensitive(*e.Value)})
		case isRef && e.ValueRef != nil && e.Value == nil:
			values = append(values, r.contextValueOf(field+".valueRef", e.Name, e.ValueRef))
		default:
			r.fail("%s: type Value, the default, needs value, and type ValueRef needs valueRef", field)
		}
	}
	bytes := 0
	for _, v := range values {
		bytes += len(v.Value)
	}
	if bytes > maxContextValues {
		r.fail("extAuth.contextExtensions: the values have %d bytes, and %d are allowed; shorten them", bytes, maxContextValues)
	}
	slices.SortFunc(values, func(a, b ir.ContextValue) int { return strings.Compare(a.Name, b.Name) })
	return values
}

// contextValueOf reads a key of a ConfigMap or a Secret. A label says that policies may read it: who writes policies need not be allowed to
// read Secrets, and chooses the server that sees the value.
func (r *resolver) contextValueOf(field, name string, ref *v1alpha1.LocalObjectKeyReference) ir.ContextValue {
	var value string
	var labels map[string]string
	var exists, hasKey bool
	key := store.Key(r.policy.Namespace, string(ref.Name))
	switch {
	case ref.Group == "" && ref.Kind == "ConfigMap":
		if object, ok := r.objects.ConfigMaps.Get(r.view, key); ok {
			exists, labels = true, object.Labels
			value, hasKey = object.Data[ref.Key]
		}
	case ref.Group == "" && ref.Kind == "Secret":
		if object, ok := r.objects.Secrets.Get(r.view, key); ok {
			data, found := object.Data[ref.Key]
			exists, labels, value, hasKey = true, object.Labels, string(data), found
		}
	default:
		r.fail("%s refers to a %s; refer to a ConfigMap or a Secret", field, ref.Kind)
		return ir.ContextValue{}
	}
	_, labelled := labels[v1alpha1.PolicyDataLabel]
	object := fmt.Sprintf("%s %s", ref.Kind, key)
	switch {
	case !exists:
		r.unresolvedSecret("%s: there is no %s; create it, or correct the name", field, object)
	case !labelled:
		r.unresolvedSecret("%s: Gatewright does not read %s, which has no label %s; add it", field, object, v1alpha1.PolicyDataLabel)
	case !hasKey:
		r.unresolvedSecret("%s: %s has no key %s; add it, or correct the key", field, object, ref.Key)
	case len(value) > maxContextValues || !utf8.ValidString(value):
		r.unresolvedSecret("%s: key %s of %s is no text of at most %d bytes; correct it", field, ref.Key, object, maxContextValues)
		value = ""
	}
	return ir.ContextValue{Name: name, Value: ir.Sensitive(value), Secret: ref.Kind == "Secret"}
}
