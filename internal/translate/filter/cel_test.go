package filter

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/cel"
	"github.com/gatewright/gatewright/internal/resolve/expression"
)

// TestTextsThatAreNotUTF8: a text is compared with any character only after it is known to be UTF-8. test/translation asks a live Envoy.
func TestTextsThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"request.path.matches('^/a[0-9]*$')":                                    0,
		"request.path.matches('(?i)^/k$')":                                      0,
		"request.path.matches('^/a.*$')":                                        1,
		"matches(request.path, '[^/]')":                                         1,
		"!request.path.matches('\\\\W') || request.host.matches('(?s:a.)|b')":   2,
		"[{'a': request.path.matches('a|(b[^c])')}][0].a":                       1,
		"(request.path.matches('.') ? request.path : 'a').matches('.') == true": 3,
	} {
		c, err := cel.Parse(text, &cel.Budget{Regexes: &expression.Budget{Limits: limits.Defaults()}})
		if err != nil {
			t.Fatal(err)
		}
		for _, allow := range []bool{true, false} {
			wire, err := proto.Marshal(ruleConditions(ir.Name{}, &ir.AuthorizationRule{CEL: c, Allow: allow}))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(string(wire), "(?s)^.*$"); got != want {
				t.Errorf("%s: %d texts are checked, want %d", text, got, want)
			}
		}
	}
}
