package reply

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/command"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// HeaderFormats reads a header modifier whose values may have variables. Of what Envoy would refuse it returns a message.
func HeaderFormats(field string, f *gwv1.HTTPHeaderFilter) (*ir.HeaderEdit, string) {
	if f == nil {
		return nil, ""
	}
	edit := &ir.HeaderFormats{}
	var message string
	if edit.Set, message = formats(field+".set", f.Set); message != "" {
		return nil, message
	}
	if edit.Add, message = formats(field+".add", f.Add); message != "" {
		return nil, message
	}
	for _, name := range f.Remove {
		if message := header.CheckEdit(name); message != "" {
			return nil, field + ".remove: " + message
		}
	}
	return &ir.HeaderEdit{Remove: f.Remove, Formats: edit}, ""
}

func formats(field string, from []gwv1.HTTPHeader) ([]ir.Header, string) {
	var list []ir.Header
	for _, h := range from {
		if message := header.CheckEdit(string(h.Name)); message != "" {
			return nil, field + ": " + message
		}
		if message := header.CheckValue(field+": the value for header "+string(h.Name), h.Value); message != "" {
			return nil, message
		}
		format, message := command.Format(field+"["+string(h.Name)+"]", h.Value)
		if message != "" {
			return nil, message
		}
		list = append(list, ir.Header{Name: string(h.Name), Value: format})
	}
	return list, ""
}
