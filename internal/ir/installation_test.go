package ir_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestInstallationsAreValuesOfLabels(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	seen := map[string]string{}
	for _, controller := range []string{
		"example.com/a", "example.com/a/b", "example.com/a_b", "example.com/a~b", "example.com/" + strings.Repeat("x", 200),
		"example.com/" + strings.Repeat("x", 201),
	} {
		value := ir.Installation(controller)
		if len(value) > 63 || !valid.MatchString(value) {
			t.Errorf("%s: %s is no value of a label", controller, value)
		}
		if other, ok := seen[value]; ok {
			t.Errorf("%s and %s are both %s", controller, other, value)
		}
		seen[value] = controller
	}
}
