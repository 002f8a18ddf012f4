package route

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

const contentType = "content-type"

// respond answers as a user wrote. The body is a format, since Envoy bounds the size of any other body for the whole table.
func respond(r *routev3.Route, response *ir.Response) {
	fail(r, response.StatusCode)
	if response.Body != "" {
		r.GetDirectResponse().BodyFormat = &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: response.Body},
			}},
			ContentType: response.ContentType,
		}
		return
	}
	if response.ContentType != "" {
		r.ResponseHeadersToAdd = append(r.ResponseHeadersToAdd,
			header(ir.Header{Name: contentType, Value: response.ContentType}, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
}
