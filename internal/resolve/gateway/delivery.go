package gateway

import (
	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
)

func delivery(spec v1alpha1.ProxyConfigSpec) ir.Delivery {
	if spec.Delivery != nil && *spec.Delivery == v1alpha1.DeliveryFiles {
		return ir.Files
	}
	return ir.XDS
}

// filesAbroad says why the proxies of a Gateway can not be supplied by files where they are: the files belong to the Gateway, and an object can own none in another namespace.
func filesAbroad(fleet *ir.Fleet) string {
	if fleet.Delivery == ir.Files && (fleet.Abroad != "" || fleet.Shared != (ir.Name{})) {
		fleet.Delivery = ir.XDS
		return "delivery Files is for proxies in the namespace of their Gateway; use placement GatewayNamespace, or delivery XDS"
	}
	return ""
}

// WithoutFiles is what becomes of a Gateway where delivery Files is not offered. One that asks for it is told so, and its fleet stays as it is.
func (r Resolved) WithoutFiles() Resolved {
	if r.Gateway.Fleet.Delivery == ir.Files {
		r.Gateway.Fleet.Delivery = ir.XDS
		r = r.Hold("delivery Files is not offered here: install the chart of Gatewright with files.enabled=true, or use delivery XDS")
	}
	return r
}
