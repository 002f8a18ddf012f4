package route

import (
	"fmt"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
)

// answers says whether a rule answers without a backend. Proxies cannot send context extensions to an authorization server there, so such a
// rule below a policy that has some answers an error: the server would decide without what it is to know.
func answers(rule Rule) bool { return rule.Redirect != nil || rule.Respond != nil }

// ruleProblem is why a rule is not served, by the number of the rule.
type ruleProblem struct{ rule, message string }

// withoutContext are the rules that answer an error below a layer for want of context extensions, each once.
func (r Resolved) withoutContext(layer *inherit.Layer) []ruleProblem {
	var problems []ruleProblem
	for _, rule := range r.Rules {
		policy, rejections := layer.Requests(rule.Policy, attach.Target{})
		if !answers(rule) || !policy.AsksWithContext() || len(rejections) > 0 {
			continue
		}
		origin := ""
		if i := slices.IndexFunc(policy.Origins, func(o ir.Origin) bool { return o.Setting == "extAuth" }); i >= 0 {
			object := policy.Origins[i].Object
			origin = fmt.Sprintf(" of %s %s", object.Kind, object.Name)
		}
		p := ruleProblem{ruleOf(rule.Name), fmt.Sprintf("it has no backend, and only requests for backends can be checked with "+
			"extAuth.contextExtensions%s; remove them there, or turn extAuth off for the rule with mode None", origin)}
		if !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	return problems
}
