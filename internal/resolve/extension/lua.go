package extension

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// maxScript and maxContext bound a script and its context. Every match of every rule that uses them has a copy.
const maxScript, maxContext = 32 << 10, 8 << 10

// maxNesting is how deep a context may be. Lua reads no literal that is much deeper.
const maxNesting = 16

// lua resolves a script. It is not read here: only proxies run it, and what is wrong with it is found there.
func (r resolver) lua(field string, spec *v1alpha1.Lua) (*ir.Lua, *refs.Problem, string) {
	source, problem, message := r.script(field, spec)
	switch {
	case problem != nil || message != "":
		return nil, problem, message
	case len(source) > maxScript:
		return nil, nil, fmt.Sprintf("%s: the script has more than %d bytes; shorten it", field, maxScript)
	case !utf8.ValidString(source):
		return nil, nil, field + ": the script is not UTF-8; encode it so"
	}
	context, message := filterContext(field+".filterContext", spec.FilterContext)
	if message != "" {
		return nil, nil, message
	}
	return &ir.Lua{Source: source, Context: context}, nil, ""
}

func (r resolver) script(field string, spec *v1alpha1.Lua) (string, *refs.Problem, string) {
	switch kind := ptr.Deref(spec.Type, v1alpha1.SourceInline); {
	case kind == v1alpha1.SourceInline && spec.Inline != nil:
		return *spec.Inline, nil, ""
	case kind == v1alpha1.SourceValueRef && spec.ValueRef != nil:
		return r.configMap(field+".valueRef", spec.ValueRef)
	default:
		return "", nil, field + " has no script; set inline, or valueRef with type ValueRef"
	}
}

func (r resolver) configMap(field string, ref *gwv1.LocalObjectReference) (string, *refs.Problem, string) {
	if ref.Group != "" || ref.Kind != "ConfigMap" {
		return "", nil, fmt.Sprintf("%s has kind %q in group %q; refer to a ConfigMap", field, ref.Kind, ref.Group)
	}
	key := store.Key(r.from.Namespace, string(ref.Name))
	config, _ := r.objects.ConfigMaps.Get(r.view, key)
	if config == nil {
		return "", &refs.Problem{
			Reason: reasonScriptNotFound, Message: fmt.Sprintf("%s: ConfigMap %s does not exist; create it, or correct the name", field, key),
		}, ""
	}
	source, ok := config.Data[store.LuaKey]
	if !ok {
		return "", &refs.Problem{
			Reason: reasonScriptNotFound, Message: fmt.Sprintf("%s: ConfigMap %s has no key %s; add it", field, key, store.LuaKey),
		}, ""
	}
	return source, nil, ""
}

// filterContext is a JSON object in one spelling, empty for none.
func filterContext(field string, raw *runtime.RawExtension) (string, string) {
	if raw == nil || len(raw.Raw) == 0 {
		return "", ""
	}
	if len(raw.Raw) > maxContext {
		return "", fmt.Sprintf("%s has more than %d bytes; shorten it", field, maxContext)
	}
	var object map[string]any
	if err := json.Unmarshal(raw.Raw, &object); err != nil || object == nil {
		return "", field + " is not an object; write keys and values"
	}
	if depth(object) > maxNesting {
		return "", fmt.Sprintf("%s is nested more than %d levels; make it flat", field, maxNesting)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return "", field + " cannot be read; write keys and values"
	}
	return string(text), ""
}

func depth(value any) int {
	deepest := 0
	switch v := value.(type) {
	case map[string]any:
		for _, element := range v {
			deepest = max(deepest, depth(element))
		}
	case []any:
		for _, element := range v {
			deepest = max(deepest, depth(element))
		}
	default:
		return 0
	}
	return deepest + 1
}
