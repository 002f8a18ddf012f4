package route

import (
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// headers gives an edit the shape Envoy has for it. Envoy removes first, then sets, then adds.
func headers(edit *ir.HeaderEdit) (add []*corev3.HeaderValueOption, remove []string) {
	if edit.IsZero() {
		return nil, nil
	}
	for _, h := range edit.Set {
		add = append(add, header(h, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	for _, h := range edit.Add {
		add = append(add, header(h, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
	}
	if edit.Formats == nil {
		return add, edit.Remove
	}
	for _, h := range edit.Formats.Set {
		add = append(add, format(h, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	for _, h := range edit.Formats.Add {
		add = append(add, format(h, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
	}
	return add, edit.Remove
}

// format is a header whose value Envoy makes. Without a value there is no header.
func format(h ir.Header, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: h.Name, Value: h.Value}, AppendAction: action}
}

func header(h ir.Header, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:         &corev3.HeaderValue{Key: h.Name, Value: wire.Literal(h.Value)},
		AppendAction:   action,
		KeepEmptyValue: h.Value == "",
	}
}

// then is the edit that does what first does and afterwards what second does.
func then(first, second *ir.HeaderEdit) *ir.HeaderEdit {
	switch {
	case first.IsZero():
		return second
	case second == nil:
		return first
	}
	undone := func(h ir.Header) bool {
		same := func(name string) bool { return strings.EqualFold(name, h.Name) }
		return slices.ContainsFunc(second.Remove, same) ||
			slices.ContainsFunc(second.Set, func(s ir.Header) bool { return same(s.Name) })
	}
	kept := &ir.HeaderEdit{Set: without(first.Set, undone), Add: without(first.Add, undone), Remove: first.Remove}
	if f := first.Formats; f != nil {
		kept.Formats = &ir.HeaderFormats{Set: without(f.Set, undone), Add: without(f.Add, undone)}
	}
	return kept.And(second)
}

func without(headers []ir.Header, drop func(ir.Header) bool) []ir.Header {
	return slices.DeleteFunc(slices.Clone(headers), drop)
}

// edits says whether an edit sets, adds to or removes a header.
func edits(e *ir.HeaderEdit, name string) bool {
	if e == nil {
		return false
	}
	same := func(h ir.Header) bool { return strings.EqualFold(h.Name, name) }
	if f := e.Formats; f != nil && (slices.ContainsFunc(f.Set, same) || slices.ContainsFunc(f.Add, same)) {
		return true
	}
	return slices.ContainsFunc(e.Set, same) || slices.ContainsFunc(e.Add, same) ||
		slices.ContainsFunc(e.Remove, func(removed string) bool { return strings.EqualFold(removed, name) })
}
