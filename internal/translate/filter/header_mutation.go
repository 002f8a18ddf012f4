package filter

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// HeaderMutations are the changes to headers, removals first, in the order of the settings.
func HeaderMutations(m *ir.HeaderMutation) []*mutationv3.HeaderMutation {
	if m == nil {
		return nil
	}
	var edits []*mutationv3.HeaderMutation
	for _, name := range m.Remove {
		edits = append(edits, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}})
	}
	for _, match := range m.RemoveOnMatch {
		edits = append(edits, RemoveHeaders(match))
	}
	for _, list := range []struct {
		headers []ir.Header
		action  corev3.HeaderValueOption_HeaderAppendAction
	}{
		{m.Set, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD},
		{m.Add, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD},
		{m.AddIfAbsent, corev3.HeaderValueOption_ADD_IF_ABSENT},
	} {
		for _, h := range list.headers {
			edits = append(edits, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
				Header: &corev3.HeaderValue{Key: h.Name, Value: wire.Literal(h.Value)}, AppendAction: list.action, KeepEmptyValue: true,
			}}})
		}
	}
	return edits
}

// RemoveHeaders removes the headers whose names match.
func RemoveHeaders(m ir.StringMatch) *mutationv3.HeaderMutation {
	match := &mutationv3.HeaderMutation_RemoveOnMatch{KeyMatcher: StringMatch(m)}
	return &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_RemoveOnMatch_{RemoveOnMatch: match}}
}
