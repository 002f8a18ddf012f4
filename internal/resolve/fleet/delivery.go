package fleet

import "github.com/gatewright/gatewright/internal/ir"

// filesOutsideNamespace returns a message if files cannot reach the proxies: an object owns no files in another namespace.
func filesOutsideNamespace(fleet *ir.Fleet) string {
	if fleet.Delivery == ir.Files && (fleet.OtherNamespace != "" || fleet.Shared != (ir.Name{})) {
		fleet.Delivery = ir.XDS
		return "delivery Files is for proxies in the namespace of their Gateway; use placement GatewayNamespace, or delivery XDS"
	}
	return ""
}
