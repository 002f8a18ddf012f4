package explain

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// truth is whether a condition holds: it may depend on what is not known here.
type truth uint8

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// authorize asks every policy whether it allows the request.
func (x *exchange) authorize(s settings) bool {
	if s.closed {
		return true
	}
	for i := range s.Authorization {
		a := &s.Authorization[i]
		allowed, denied, by := x.decide(a, s.JWT.Verifies(a.Policy))
		hop := Hop{
			Name: hopFilter, Object: "authorization", Origin: "SecurityPolicy/" + a.Policy.String(), Detail: by + " denies the request",
		}
		switch {
		case denied && !allowed:
			x.fail(http.StatusForbidden, hop, fmt.Sprintf("add a rule to SecurityPolicy %s that allows it", a.Policy))
			return false
		case denied:
			x.alternative(http.StatusForbidden, "authorization", hop.Detail, hop.Origin)
		}
	}
	return true
}

// decide says whether a policy may allow the request, and may deny it, and which rule denies it.
func (x *exchange) decide(a *ir.Authorization, verified bool) (allowed, denied bool, by string) {
	if a.Claims && !verified {
		return false, true, fmt.Sprintf("SecurityPolicy %s, whose tokens another policy verifies,", a.Policy)
	}
	for i := range a.Rules {
		rule := &a.Rules[i]
		holds := x.holds(rule)
		if holds == no {
			continue
		}
		allowed = allowed || rule.Allow
		if !rule.Allow && !denied {
			denied, by = true, fmt.Sprintf("rule %d of SecurityPolicy %s", i, a.Policy)
		}
		if holds == yes {
			return allowed, denied, by
		}
	}
	if !a.Allow && !denied {
		by = fmt.Sprintf("the default of SecurityPolicy %s", a.Policy)
	}
	return allowed || a.Allow, denied || !a.Allow, by
}

// holds says whether all parts of a rule match the request.
func (x *exchange) holds(rule *ir.AuthorizationRule) truth {
	result := yes
	if len(rule.CIDRs) > 0 {
		address := unknown
		if x.client.IsValid() {
			address = truthOf(inAny(rule.CIDRs, x.client))
		}
		result = min(result, address)
	}
	if len(rule.Methods) > 0 {
		result = min(result, truthOf(slices.Contains(rule.Methods, x.request.Method)))
	}
	if rule.Path != nil {
		result = min(result, truthOf(x.pathHolds(rule.Path, rule.Allow)))
	}
	for _, h := range rule.Headers {
		result = min(result, truthOf(x.headerHolds(h, rule.Allow)))
	}
	if len(rule.Claims) > 0 || len(rule.Locations) > 0 || rule.CEL != nil {
		result = min(result, unknown)
	}
	return result
}

// pathHolds compares the path. What a rule denies, it denies however it is spelled, and a path whose dot segments proxies do not see is
// never allowed.
func (x *exchange) pathHolds(p *ir.PathRule, allow bool) bool {
	strict := p.Strict(allow)
	holds, hidden := fullMatch(p.Expression(strict), x.path), fullMatch(ir.HiddenDots, x.path)
	if strict {
		holds = holds && !hidden
	} else {
		holds = holds || hidden
	}
	return holds != p.Invert
}

// headerHolds compares all values of a header in one. A rule that denies looks at each of them.
func (x *exchange) headerHolds(h ir.HeaderValues, allow bool) bool {
	all, ok := x.headers.together(h.Name)
	if !ok {
		return false
	}
	if allow {
		return slices.Contains(h.Values, all)
	}
	for value := range strings.SplitSeq(all, ",") {
		if slices.Contains(h.Values, strings.TrimSpace(value)) {
			return true
		}
	}
	return slices.Contains(h.Values, strings.TrimSpace(all))
}
