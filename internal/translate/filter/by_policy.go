package filter

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// byPolicy configures a filter by the settings of requests: for a virtual host by those that its rules share, so that they are sent once,
// and for a rule by its own. config is false where the settings have nothing for the filter.
func byPolicy(f Filter, config func(*ir.RequestPolicy) (proto.Message, bool)) Filter {
	f.VirtualHost = func(host *ir.VirtualHost) (proto.Message, bool) {
		if host.Policy == nil {
			return nil, false
		}
		return config(host.Policy)
	}
	f.Route = func(host *ir.VirtualHost, rule *ir.Rule) (proto.Message, bool) {
		if rule.Policy == nil {
			return nil, false
		}
		if own, ok := config(rule.Policy); ok {
			return own, true
		}
		if _, shared := f.VirtualHost(host); shared {
			return &routev3.FilterConfig{Disabled: true}, true
		}
		return nil, false
	}
	return f
}
