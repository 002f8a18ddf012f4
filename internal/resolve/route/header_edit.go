package route

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// headerEdit reads a header modifier. Of what Envoy would refuse, and with it every other rule of the table, it returns a message.
func headerEdit(f *gwv1.HTTPHeaderFilter, edit *ir.HeaderEdit) string {
	edit.Remove = f.Remove
	for _, list := range []struct {
		from []gwv1.HTTPHeader
		to   *[]ir.Header
	}{{f.Set, &edit.Set}, {f.Add, &edit.Add}} {
		for _, h := range list.from {
			if message := header.CheckValue("the value for header "+string(h.Name), h.Value); message != "" {
				return message
			}
			*list.to = append(*list.to, ir.Header{Name: string(h.Name), Value: h.Value})
		}
	}
	for _, name := range editedNames(f) {
		if message := header.CheckEdit(name); message != "" {
			return message
		}
	}
	return ""
}

func editedNames(f *gwv1.HTTPHeaderFilter) []string {
	var names []string
	for _, h := range f.Set {
		names = append(names, string(h.Name))
	}
	for _, h := range f.Add {
		names = append(names, string(h.Name))
	}
	return append(names, f.Remove...)
}
