package app

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// podAddresses is the environment variable with the addresses of this pod, from the field status.podIPs.
const podAddresses = "POD_IPS"

// findFamilies takes the families of the flag, or else those of this pod.
func (o *Options) findFamilies() error {
	families, err := parseFamilies(o.IPFamilies)
	if err != nil {
		return err
	}
	if o.families = families; len(families) == 0 {
		o.families = detectFamilies(os.Getenv(podAddresses))
	}
	return nil
}

// parseFamilies reads the flag.
func parseFamilies(texts []string) (ir.Families, error) {
	var families ir.Families
	for _, text := range texts {
		family := ir.Family(text)
		if family != ir.IPv4 && family != ir.IPv6 || slices.Contains(families, family) {
			return nil, fmt.Errorf("--ip-families %q is not IPv4, IPv6 or both, the preferred one first", strings.Join(texts, ","))
		}
		families = append(families, family)
	}
	return families, nil
}

// detectFamilies are the families of this pod's own addresses. The proxies are pods of the same network, so they have the same.
func detectFamilies(addresses string) ir.Families {
	var families ir.Families
	for text := range strings.SplitSeq(addresses, ",") {
		address, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			continue
		}
		if family := ir.FamilyOf(address); !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	return families
}
