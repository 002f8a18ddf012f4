package proxyconfig

import (
	"maps"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/command"
)

// checkFormats finds what Envoy would refuse, and with it the whole listener.
func checkFormats(field string, log ir.AccessLog) string {
	for _, name := range slices.Sorted(maps.Keys(log.Fields)) {
		if message := command.Check(field+".fields["+name+"]", log.Fields[name]); message != "" {
			return message
		}
	}
	return command.Check(field+".format", log.Format)
}
