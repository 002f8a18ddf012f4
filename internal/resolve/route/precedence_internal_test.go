package route

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestAClosedRuleKeepsItsPlace closes rules, and sends them to another replica.
func TestAClosedRuleKeepsItsPlace(t *testing.T) {
	t.Parallel()
	name := ir.Name{Namespace: "infra", Name: "r"}
	expression := ir.Match{Path: ir.StringMatch{Kind: ir.Regex, Value: "/admin/[a-z]{1,9}"}}
	wide := failing("HTTPRoute").rule("HTTPRoute/infra/r/0/0", ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}})
	for what, rule := range map[string]Rule{
		"an expression":                failing("HTTPRoute").rule("HTTPRoute/infra/r/0/0", expression),
		"conditions that are unknown":  wide.at(wide.rank.first()),
		"a hostname of unknown routes": closedHostnames("HTTPRoute", name),
	} {
		r := Resolved{Kind: "HTTPRoute", Name: name, Rules: []Rule{rule}}
		for how, closed := range map[string]Resolved{
			"as it is": r, "closed": r.Closed(), "widened": r.Widened(), "cheaply": r.cheaply(),
			"all hostnames": {Rules: []Rule{r.Rules[0].closed()}},
		} {
			text, err := closed.Encode()
			if err != nil {
				t.Fatal(err)
			}
			read, err := Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := read.Rules[0]; got.rank != rule.rank || got.Rest != rule.Rest {
				t.Errorf("%s, %s: the place is %+v, want %+v", what, how, got.rank, rule.rank)
			}
		}
	}
}
