package proxyconfig

import (
	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
)

// Delivery returns how configuration reaches the proxies.
func Delivery(spec v1alpha1.ProxyConfigSpec) ir.Delivery {
	if spec.Delivery != nil && *spec.Delivery == v1alpha1.DeliveryFiles {
		return ir.Files
	}
	return ir.XDS
}
