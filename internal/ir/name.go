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
	hash := fnv.New32a()
	_, _ = fmt.Fprintf(hash, "%s/%s", gateway, class)
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
