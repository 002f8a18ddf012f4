package route

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// repeatable are the filters that a rule may have several of: each does something of its own. The standard: the same filter several times
// is not supported unless its description says so. Of the others the second would take the place of the first.
var repeatable = []gwv1.HTTPRouteFilterType{gwv1.HTTPRouteFilterRequestMirror, gwv1.HTTPRouteFilterExtensionRef}

// checkRepeated says which filter is there twice. Definitions reject most of it, but none a second authorization.
func checkRepeated(filters []gwv1.HTTPRouteFilter, where string) string {
	for i, f := range filters {
		again := func(other gwv1.HTTPRouteFilter) bool { return other.Type == f.Type }
		if !slices.Contains(repeatable, f.Type) && slices.ContainsFunc(filters[:i], again) {
			return fmt.Sprintf("two filters of type %s%s, of which one may be there; remove one", f.Type, where)
		}
	}
	return ""
}
