package proxyconfig

import (
	"k8s.io/utils/ptr"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/fraction"
)

// AccessLog reads the access log in a field of that name, without its backend. It returns a message if Envoy does not accept the format.
func AccessLog(field string, log v1alpha1.AccessLog) (ir.AccessLog, string) {
	read := ir.AccessLog{Type: ir.AccessLogType(log.Type), Fields: plain(log.Fields), Format: string(ptr.Deref(log.Format, ""))}
	read.MinimumStatus = uint32(ptr.Deref(log.MinimumStatus, 0)) //nolint:gosec // the API server lets three digits pass
	return read, checkFormats(field, read)
}

// Tracing reads which requests become spans, without the backend that receives them. It returns a message if the sampling rate is wrong.
func Tracing(spec v1alpha1.Tracing) (ir.Tracing, string) {
	rate, message := fraction.Parse("tracing.samplingRate", spec.SamplingRate, ir.Fraction{Numerator: 1, Denominator: 100})
	return ir.Tracing{
		Service: ptr.Deref(spec.ServiceName, ""), Rate: rate,
		FollowParent: true, ParentRate: ir.Fraction{Numerator: 1, Denominator: 1},
	}, message
}
