package app

import (
	"os"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

const resolvConf = "/etc/resolv.conf"

// detectClusterDomain reads the cluster's DNS domain from the search list that the kubelet gives every pod: `svc.<domain>` is on it.
func detectClusterDomain(path string) string {
	text, err := os.ReadFile(path) //nolint:gosec // the path is a constant, or a test's
	if err != nil {
		return ir.DefaultClusterDomain
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "search" {
			continue
		}
		for _, domain := range fields[1:] {
			if rest, ok := strings.CutPrefix(domain, "svc."); ok {
				return strings.TrimSuffix(rest, ".")
			}
		}
	}
	return ir.DefaultClusterDomain
}
