package filter

import (
	"strconv"

	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// Extension is the name of the filter for one extension of a rule, by its place. It runs the extension that a route brings along, and does
// nothing for a route without one. There is one for each, as [BeforeRouting] says.
func Extension(place int) string { return extensionPrefix + strconv.Itoa(place) }

const extensionPrefix = "gatewright.extension."

// extensions are only in listeners of installations that enable them.
var extensions = Filter{Places: ir.MaxExtensions, At: func(place int) Filter {
	return Filter{
		Name: Extension(place), OnDemand: true,
		Listener: func(_ *ir.Port, chain *ir.Chain) (proto.Message, bool) {
			return &compositev3.Composite{}, chain.Extensions
		},
		Route: func(_ *ir.VirtualHost, rule *ir.Rule) (proto.Message, bool) {
			all := rule.Extensions.All()
			if place >= len(all) {
				return nil, false
			}
			switch e := all[place]; {
			case e.ExtProc != nil:
				return runs(extProcName, extProc(e.ExtProc)), true
			case e.Lua != nil:
				return runs(luaName, lua(e.Lua)), true
			default:
				return nil, false
			}
		},
	}
}}
