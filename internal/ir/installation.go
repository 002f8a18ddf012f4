package ir

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// InstallationLabel holds the installation on the objects that it makes, see [Installation]. It is not on pods.
const InstallationLabel = "gatewright.dev/installation"

// maxInstallation leaves room for a hash in the 63 characters of a label.
const maxInstallation = 54

// Installation names the installation with a controller name as the value of a label.
func Installation(controller string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(controller))
	readable := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-._", r) || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, controller)
	return fmt.Sprintf("%s-%08x", readable[:min(len(readable), maxInstallation)], hash.Sum32())
}
