package traffic

import (
	"fmt"
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/values"
)

func (c *converter) fault(f *v1alpha1.FaultInjection) *ir.Fault {
	if f == nil {
		return nil
	}
	p := &ir.Fault{}
	if f.Delay != nil {
		p.Delay = values.Or(c.AtLeast("faultInjection.delay.fixedDelay", &f.Delay.FixedDelay, time.Millisecond))
		p.DelayPart = part(f.Delay.Percentage)
	}
	if f.Abort != nil {
		p.HTTPStatus, p.AbortPart = values.Unsigned(f.Abort.HTTPStatus), part(f.Abort.Percentage)
		if f.Abort.GRPCStatus != nil {
			p.GRPCStatus = new(values.Unsigned(f.Abort.GRPCStatus))
		}
	}
	return p
}

// part is a percentage as parts of a million; nil is all.
func part(p *float32) uint32 {
	const million = 1_000_000
	if p == nil {
		return million
	}
	return uint32(min(max(float64(*p), 0), percent) * million / percent)
}

func (c *converter) compressors(list []v1alpha1.Compression) []ir.Compressor {
	var all []ir.Compressor
	for i, one := range list {
		compressor := ir.Compressor{Type: one.Type}
		if one.MinContentLength != nil {
			// Envoy takes none that is shorter.
			compressor.MinLength = c.Bytes(fmt.Sprintf("compressor[%d].minContentLength", i), one.MinContentLength, 30, 1<<30)
		}
		all = append(all, compressor)
	}
	return all
}
