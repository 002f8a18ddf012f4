package extension

import (
	"fmt"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// OfListener resolves an Extension that is a filter of a listener, as [Resolve] does for a rule. It has servers only, and these have to
// have changed a request before a route is chosen.
func OfListener(v *store.View, objects *store.Objects, namespace, name string) ([]ir.ListenerFilter, *refs.Problem, string) {
	key := store.Key(namespace, name)
	if object, ok := objects.Extensions.Get(v, key); ok && len(object.Spec.Lua) > 0 {
		return nil, nil, fmt.Sprintf("Extension %s: lua cannot be a filter of a listener, because a script would run in the requests of all "+
			"its routes; use it in the rules of a route", key)
	}
	list, problem, message := Resolve(v, objects, namespace, name)
	if problem != nil || message != "" {
		return nil, problem, message
	}
	if len(list) == 0 {
		return nil, nil, fmt.Sprintf("Extension %s has no extProc; add it", key)
	}
	filters := make([]ir.ListenerFilter, 0, len(list))
	for i, e := range list {
		if message := tooLate(e.ExtProc); message != "" {
			return nil, nil, fmt.Sprintf("Extension %s: extProc[%d]%s", key, i, message)
		}
		filters = append(filters, ir.ListenerFilter{ExtProc: e.ExtProc})
	}
	return filters, nil, ""
}

// tooLate rejects the ways to send the body of a request in which Envoy applies what a server changes in headers after it has chosen the
// route, or does so only if the body is late.
func tooLate(server *ir.ExtProc) string {
	if server.Request == nil || server.Shadow {
		return ""
	}
	switch mode := server.Request.Body; mode {
	case ir.BodyStreamed, ir.BodyPartial:
		return fmt.Sprintf(".processingMode.request.body %s cannot be used in a filter of a listener, because a route may be chosen before the "+
			"server has seen the body; use Buffered or FullDuplexStreamed", mode)
	default:
		return ""
	}
}
