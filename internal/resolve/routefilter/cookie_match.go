package routefilter

import (
	"fmt"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/expression"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// cookies reads the alternatives of a filter. Of what Envoy would refuse it returns a message.
func (in Inputs) cookies(matches []v1alpha1.HTTPRouteFilterMatch) ([]*ir.CookieMatches, string) {
	var alternatives []*ir.CookieMatches
	// The rule counts the expressions once more, with its own.
	budget := expression.Budget{Limits: in.Objects.Limits}
	for i, m := range matches {
		alternative := &ir.CookieMatches{}
		for j, c := range m.Cookies {
			field := fmt.Sprintf("matches[%d].cookies[%d]", i, j)
			if message := header.CheckName(field+": cookie", c.Name); message != "" {
				return nil, message
			}
			if message := header.CheckValue(field+".value", c.Value); message != "" {
				return nil, message
			}
			named := ir.NamedMatch{Name: c.Name, StringMatch: ir.StringMatch{Value: c.Value}}
			if c.Type != nil && *c.Type != v1alpha1.CookieMatchExact && *c.Type != v1alpha1.CookieMatchRegularExpression {
				return nil, fmt.Sprintf("%s.type %q is not known; use Exact or RegularExpression", field, *c.Type)
			}
			if c.Type != nil && *c.Type == v1alpha1.CookieMatchRegularExpression {
				named.Kind = ir.Regex
				if c.Value == "" {
					return nil, field + ".value is empty; write an expression, such as .*"
				}
				if err := budget.Take(c.Value); err != nil {
					return nil, fmt.Sprintf("%s %q: %v", field, c.Value, err)
				}
			}
			alternative.List = append(alternative.List, named)
		}
		if len(alternative.List) == 0 {
			return nil, fmt.Sprintf("matches[%d] has no cookies; add one, or remove the match", i)
		}
		alternatives = append(alternatives, alternative)
	}
	return alternatives, ""
}
