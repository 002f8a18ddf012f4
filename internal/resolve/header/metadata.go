package header

import (
	"cmp"
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// Metadata reads the headers in a field of that name that are sent with calls of gRPC. Of what a proxy cannot send it returns a message.
func Metadata(field string, headers []gwv1.HTTPHeader) ([]ir.Header, string) {
	var all []ir.Header
	for _, h := range headers {
		if message := cmp.Or(CheckName(field+":", string(h.Name)), CheckValue("the value for header "+string(h.Name), h.Value)); message != "" {
			return nil, message
		}
		if strings.Contains(h.Value, "%") {
			return nil, fmt.Sprintf("%s: the value for header %s has a per cent sign, which the proxy cannot send; use another", field, h.Name)
		}
		all = append(all, ir.Header{Name: strings.ToLower(string(h.Name)), Value: h.Value})
	}
	return all, ""
}
