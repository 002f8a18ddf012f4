package ir

import (
	"crypto/sha256"
	"encoding/hex"
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

// SystemFleetName is the name of a fleet in Gatewright's own namespace, where Gateways of all namespaces meet. Of names that are cut off
// a tenant chooses what is not seen, so a longer hash tells these apart: for 32 bits of FNV another name with the same hash is found at
// once, and would take the place of the fleet.
func SystemFleetName(gateway Name, class string) string {
	full, unique := lettered(strings.ReplaceAll(gateway.Name+"-"+class, ".", "-")), gateway.String()+"/"+class
	if short := shortHash(unique); len(full) <= maxLabel-len(short) {
		return strings.TrimRight(full, "-") + short
	}
	sum := sha256.Sum256([]byte(unique))
	return withSuffix(full, "-"+hex.EncodeToString(sum[:10]))
}

// SharedFleetName is the name of the objects that run the proxies which all Gateways of a class share.
func SharedFleetName(class string) string {
	return withHash("shared-"+strings.ReplaceAll(class, ".", "-"), SharedFleet(class).String())
}

// withHash is a name that fits a DNS label, and has a hash at its end that tells it from others.
func withHash(full, unique string) string { return withSuffix(lettered(full), shortHash(unique)) }

func shortHash(unique string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(unique))
	return fmt.Sprintf("-%08x", hash.Sum32())
}

// withSuffix is a name that fits a DNS label, cut off before its suffix where it would not.
func withSuffix(full, suffix string) string {
	if len(full) > maxLabel-len(suffix) {
		full = full[:maxLabel-len(suffix)]
	}
	return strings.TrimRight(full, "-") + suffix
}

// lettered begins with a letter, as the name of a Service has to.
func lettered(name string) string {
	if isLetter(name[0]) {
		return name
	}
	return "gw-" + name
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
