package ir

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// Name identifies a namespaced thing, such as a Gateway or a Service.
type Name struct {
	Namespace string
	Name      string
}

func (n Name) String() string { return n.Namespace + "/" + n.Name }

// ParseName is the inverse of [Name.String].
func ParseName(s string) Name {
	namespace, name, _ := strings.Cut(s, "/")
	return Name{Namespace: namespace, Name: name}
}

// maxLabel is the longest name a Service, and so a DNS label, may have.
const maxLabel = 63

// FleetName is the name shared by every object that runs a Gateway's proxies: `<gateway>-<class>` as GEP-1762 asks,
// shortened with a hash of the whole where it would not fit a DNS label.
func FleetName(gateway, class string) string {
	full := strings.ReplaceAll(gateway+"-"+class, ".", "-")
	if len(full) <= maxLabel && !strings.Contains(gateway+class, ".") && isLetter(full[0]) {
		return full
	}
	return withHash(full, gateway+"/"+class)
}

// SystemFleetName is the name of a fleet in Gatewright's own namespace, where Gateways of all namespaces meet.
func SystemFleetName(gateway Name, class string) string {
	return withHash(strings.ReplaceAll(gateway.Name+"-"+class, ".", "-"), gateway.String()+"/"+class)
}

// SharedFleetName is the name of the objects that run the proxies which all Gateways of a class share.
func SharedFleetName(class string) string {
	return withHash("shared-"+strings.ReplaceAll(class, ".", "-"), SharedFleet(class).String())
}

// withHash is a name that fits a DNS label, and has a hash at its end that tells it from others.
func withHash(full, unique string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(unique))
	suffix := fmt.Sprintf("-%08x", hash.Sum32())
	if !isLetter(full[0]) {
		full = "gw-" + full
	}
	if len(full) > maxLabel-len(suffix) {
		full = full[:maxLabel-len(suffix)]
	}
	return strings.TrimRight(full, "-") + suffix
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
