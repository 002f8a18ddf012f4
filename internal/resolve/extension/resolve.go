package extension

import (
	"fmt"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// The reasons of references that lead nowhere.
const (
	ReasonExtensionNotFound = "ExtensionNotFound"
	reasonScriptNotFound    = "ScriptNotFound"
)

// The types of extensions, as operators enable them and as a spec has them.
const (
	TypeExtProc = "extProc"
	TypeLua     = "lua"
)

// resolver resolves one Extension.
type resolver struct {
	view    *store.View
	objects *store.Objects
	from    refs.Origin
}

// Resolve resolves the Extension of that name. It returns a problem if a reference leads nowhere, and a message if the Extension cannot be
// served as written. In both cases the rule or listener that uses it must fail closed.
func Resolve(v *store.View, objects *store.Objects, namespace, name string) ([]ir.Extension, *refs.Problem, string) {
	key := store.Key(namespace, name)
	object, ok := objects.Extensions.Get(v, key)
	if !ok {
		return nil, &refs.Problem{
			Reason: ReasonExtensionNotFound, Message: fmt.Sprintf("Extension %s does not exist; create it, or correct the name", key),
		}, ""
	}
	if message := refs.UnknownFields(object); message != "" {
		return nil, nil, fmt.Sprintf("Extension %s: %s", key, message)
	}
	r := resolver{view: v, objects: objects, from: refs.Origin{
		Group: v1alpha1.GroupName, Kind: string(store.Extension), Namespace: namespace,
	}}
	list, problem, message := r.resolve(&object.Spec)
	if problem != nil {
		problem.Message = fmt.Sprintf("Extension %s: %s", key, problem.Message)
	}
	if message != "" {
		message = fmt.Sprintf("Extension %s: %s", key, message)
	}
	return list, problem, message
}

func (r resolver) resolve(spec *v1alpha1.ExtensionSpec) (list []ir.Extension, problem *refs.Problem, message string) {
	enabled := r.objects.EnabledExtensions
	switch {
	case len(spec.ExtProc) > 0 && !enabled.ExtProc:
		return nil, nil, disabled(TypeExtProc)
	case len(spec.Lua) > 0 && !enabled.Lua:
		return nil, nil, disabled(TypeLua)
	}
	for i := range spec.ExtProc {
		server, problem, message := r.extProc(fmt.Sprintf("extProc[%d]", i), &spec.ExtProc[i])
		if problem != nil || message != "" {
			return nil, problem, message
		}
		list = append(list, ir.Extension{ExtProc: server})
	}
	for i := range spec.Lua {
		script, problem, message := r.lua(fmt.Sprintf("lua[%d]", i), &spec.Lua[i])
		if problem != nil || message != "" {
			return nil, problem, message
		}
		list = append(list, ir.Extension{Lua: script})
	}
	return list, nil, ""
}

func disabled(kind string) string {
	return fmt.Sprintf("the operator of Gatewright has not enabled %s (extensions.%s.enabled); remove it, or ask the operator", kind, kind)
}
