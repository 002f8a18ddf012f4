package route

import (
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// fieldRoom is what a tag and a length add to a message inside another.
const fieldRoom = 6

// Size is how many bytes a rule takes of a virtual host, and how many routes it becomes there. It is that of the host where the rule
// becomes the most routes: below a wildcard, and with a route for preflights. What it takes to find out is about as much as the result.
func Size(rule *ir.Rule) (bytes, routes int) {
	host := ir.VirtualHost{Domain: "*", Filters: []ir.ListenerFilter{{}}, Rules: []ir.Rule{*rule}}
	all, _ := routesOf(&host, withPreflights(&host))
	for _, r := range all {
		bytes += proto.Size(r) + fieldRoom
	}
	return bytes, len(all)
}

// FilterSize is how many bytes the filters of a listener add to each of its virtual hosts, 0 without any.
func FilterSize(filters []ir.ListenerFilter) int {
	if len(filters) == 0 {
		return 0
	}
	host, _ := VirtualHost(ir.VirtualHost{Domain: "*", Filters: filters})
	return proto.Size(host)
}

// PolicySize is how many bytes settings add to each rule that has them, 0 for none.
func PolicySize(policy *ir.RequestPolicy) int {
	if policy.IsZero() {
		return 0
	}
	bytes, _ := Size(&ir.Rule{
		Name: "HTTPRoute/-/-/0/0", Policy: policy, Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Weight: 1}}},
	})
	return bytes
}
