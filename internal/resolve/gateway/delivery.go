package gateway

import "github.com/gatewright/gatewright/internal/ir"

// WithoutFiles freezes a Gateway that asks for delivery Files where it is not offered.
func (r Resolved) WithoutFiles() Resolved {
	if r.Gateway.Fleet.Delivery == ir.Files {
		r.Gateway.Fleet.Delivery = ir.XDS
		r = r.Freeze("delivery Files is not offered here: install the chart of Gatewright with files.enabled=true, or use delivery XDS")
	}
	return r
}
