package proxyconfig

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/fraction"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// AccessLog reads the access log in a field of that name, without its backend. It returns a message if Envoy does not accept the format or
// a header.
func AccessLog(field string, log v1alpha1.AccessLog) (ir.AccessLog, string) {
	read := ir.AccessLog{Type: ir.AccessLogType(log.Type), Fields: plain(log.Fields), Format: string(ptr.Deref(log.Format, ""))}
	read.MinimumStatus = uint32(ptr.Deref(log.MinimumStatus, 0)) //nolint:gosec // the API server lets three digits pass
	message := checkFormats(field, read)
	if log.OTLP != nil && message == "" {
		read.Headers, message = header.Metadata(field+".otlp.headers", log.OTLP.Headers)
	}
	return read, message
}

// Tracing reads which requests become spans, without the backend that receives them. It returns a message if the sampling rate
// or a header is wrong.
func Tracing(spec v1alpha1.Tracing) (ir.Tracing, string) {
	rate, message := fraction.Parse("tracing.samplingRate", spec.SamplingRate, ir.Fraction{Numerator: 1, Denominator: 100})
	headers, invalid := header.Metadata("tracing.headers", spec.Headers)
	return ir.Tracing{
		Headers: headers, Service: ptr.Deref(spec.ServiceName, ""), Rate: rate,
		FollowParent: true, ParentRate: ir.Fraction{Numerator: 1, Denominator: 1},
	}, cmp.Or(message, invalid)
}
