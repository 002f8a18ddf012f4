package routefilter

import (
	"fmt"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/command"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/reply"
)

const (
	statusOK        = 200
	statusRedirects = 300
	statusLast      = 599
)

// respond reads an answer without a backend. It returns a problem or a message, as [Resolve] does.
func (in Inputs) respond(spec *v1alpha1.DirectResponse, r *Resolved) (*refs.Problem, string) {
	response := &ir.Response{StatusCode: int(ptr.Deref(spec.StatusCode, statusOK)), ContentType: ptr.Deref(spec.ContentType, "")}
	switch {
	case response.StatusCode < statusOK || response.StatusCode > statusLast:
		return nil, fmt.Sprintf("directResponse.statusCode %d is not from 200 to 599", response.StatusCode)
	case in.GRPC && response.StatusCode < statusRedirects:
		return nil, fmt.Sprintf("directResponse.statusCode %d means success, which needs a message of gRPC, and directResponse has none; "+
			"use one that is not 2xx, such as 403 for PERMISSION_DENIED or 503 for UNAVAILABLE", response.StatusCode)
	}
	if message := header.CheckValue("directResponse.contentType", response.ContentType); message != "" {
		return nil, message
	}
	body, problem, message := reply.Body(in.View, in.Objects, in.Namespace, "directResponse.body", spec.Body)
	if problem != nil || message != "" {
		return problem, message
	}
	if response.Body, message = command.Format("directResponse.body", body); message != "" {
		return nil, message
	}
	edit, message := responseHeaders(spec.Header)
	if message != "" {
		return nil, message
	}
	r.Respond = response
	if edit != nil {
		r.ResponseHeaders = edit.And(r.ResponseHeaders)
	}
	return nil, ""
}

func responseHeaders(f *gwv1.HTTPHeaderFilter) (*ir.HeaderEdit, string) {
	if f != nil && len(f.Remove) > 0 {
		return nil, "directResponse.header.remove: an answer of directResponse has no header to remove; use set and add"
	}
	return reply.HeaderFormats("directResponse.header", f)
}
