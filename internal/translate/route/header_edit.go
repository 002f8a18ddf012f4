package route

import (
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// headers gives an edit the shape Envoy has for it. Envoy removes first, then sets, then adds.
func headers(edit ir.HeaderEdit) (add []*corev3.HeaderValueOption, remove []string) {
	if edit.IsZero() {
		return nil, nil
	}
	for _, h := range edit.Set {
		add = append(add, header(h, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	for _, h := range edit.Add {
		add = append(add, header(h, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
	}
	return add, edit.Remove
}

func header(h ir.Header, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:         &corev3.HeaderValue{Key: h.Name, Value: literal(h.Value)},
		AppendAction:   action,
		KeepEmptyValue: h.Value == "",
	}
}

// literal keeps Envoy from expanding `%…%`: Gateway API means what it says, and an expression Envoy does not know makes it refuse the
// whole table.
func literal(value string) string { return strings.ReplaceAll(value, "%", "%%") }

// then is the edit that does what first does and afterwards what second does.
func then(first, second ir.HeaderEdit) ir.HeaderEdit {
	if first.IsZero() {
		return second
	}
	undone := func(h ir.Header) bool {
		same := func(name string) bool { return strings.EqualFold(name, h.Name) }
		return slices.ContainsFunc(second.Remove, same) ||
			slices.ContainsFunc(second.Set, func(s ir.Header) bool { return same(s.Name) })
	}
	return ir.HeaderEdit{
		Set:    append(without(first.Set, undone), second.Set...),
		Add:    append(without(first.Add, undone), second.Add...),
		Remove: slices.Concat(first.Remove, second.Remove),
	}
}

func without(headers []ir.Header, drop func(ir.Header) bool) []ir.Header {
	return slices.DeleteFunc(slices.Clone(headers), drop)
}

// edits says whether an edit sets, adds to or removes a header.
func edits(e ir.HeaderEdit, name string) bool {
	same := func(h ir.Header) bool { return strings.EqualFold(h.Name, name) }
	return slices.ContainsFunc(e.Set, same) || slices.ContainsFunc(e.Add, same) ||
		slices.ContainsFunc(e.Remove, func(removed string) bool { return strings.EqualFold(removed, name) })
}
