package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// Findings is what is known of a route only once hosts and backends are: nothing that proxies are sent depends on it.
type Findings struct {
	// Refused says why there is no connection to a backend, nil if there is.
	Refused func(backend ir.Backend) *refs.Problem
	// Idle says whether a backend has no endpoint that is ready.
	Idle func(backend ir.Backend) bool
	// CutTo is how many endpoints of a backend are served if it has more, zero if all are.
	CutTo func(backend ir.Backend) int
	// Policies has the policies above the rules at a listener; nil for none.
	Policies func(listener ir.ListenerID) *inherit.Layer
	// Shadows are the rules of the route that get no requests, by virtual host.
	Shadows map[ir.HostID][]ir.Shadow
}

// Report is the outcome of the route with what was found added.
func (r Resolved) Report(f Findings) outcome.Route {
	refused, notes := r.backendProblems(f)
	if len(refused) == 0 && len(notes) == 0 && len(f.Shadows) == 0 && !r.hasSettings() && !slices.ContainsFunc(r.Rules, answers) {
		return r.Outcome
	}
	o := r.Outcome
	o.RateLimited = slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.Policy.RateLimited() })
	o.Parents = slices.Clone(o.Parents)
	for i := range o.Parents {
		parent := &o.Parents[i]
		parent.Conditions = r.reject(i, f.Policies, parent.Conditions)
		parent.Conditions = slices.Clone(parent.Conditions)
		for j := range parent.Conditions {
			condition := &parent.Conditions[j]
			switch {
			case condition.Type == string(gwv1.RouteConditionResolvedRefs):
				if r.secures(i) {
					unresolve(condition, refused)
				}
				mention(condition, notes)
			case condition.Type == string(gwv1.RouteConditionAccepted) && condition.State == outcome.True:
				mention(condition, r.shadowed(i, f.Shadows))
			}
		}
	}
	return o
}

// backendProblems are the backends that get no connection, and what is to be mentioned of others: nothing is ready there, or more than is
// used.
func (r Resolved) backendProblems(f Findings) (refused []refs.Problem, notes []string) {
	for _, u := range r.uses {
		if problem := f.Refused(u.backend); problem != nil {
			refused = append(refused, refs.Problem{Reason: problem.Reason, Message: fmt.Sprintf("%s: %s", u.place, problem.Message)})
			continue
		}
		if f.Idle(u.backend) {
			notes = append(notes, fmt.Sprintf("%s: %s %s has no ready endpoints, so requests are answered 503; see %s",
				u.place, u.backend.Kind, u.backend.Object, causeOfIdleness(u.backend.Kind)))
		}
		if most := f.CutTo(u.backend); most > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s %s has more endpoints than the %d that are served; spread them over several Services, "+
				"or ask the operator for more (limit %s)", u.place, u.backend.Kind, u.backend.Object, most, limits.NameEndpoints))
		}
	}
	return refused, notes
}

func causeOfIdleness(kind ir.BackendKind) string {
	if kind == ir.KindServiceImport {
		return "the Services that clusters export, and their pods"
	}
	return "its pods and its selector"
}

// secures says whether proxies make the connections of a route for a parent themselves, and not pass on encrypted ones.
func (r Resolved) secures(parent int) bool {
	return slices.ContainsFunc(r.attachmentsOf(parent), func(a Attachment) bool { return !a.Passthrough })
}

// attachmentsOf are those that a parent gave.
func (r Resolved) attachmentsOf(parent int) []Attachment {
	if parent >= len(r.listeners) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Attachments), func(a Attachment) bool {
		return !slices.Contains(r.listeners[parent], a.ID())
	})
}

// unresolve says that references do not lead to a backend that can be used.
func unresolve(condition *outcome.Condition, problems []refs.Problem) {
	if len(problems) == 0 {
		return
	}
	var texts []string
	if condition.State == outcome.False {
		texts = append(texts, condition.Message)
	} else {
		condition.State, condition.Reason = outcome.False, problems[0].Reason
	}
	for _, p := range problems {
		texts = append(texts, p.Message)
	}
	condition.Message = list(texts)
}

// mention adds something that does not change the state of a condition.
func mention(condition *outcome.Condition, notes []string) {
	if len(notes) > 0 {
		condition.Message += "; " + list(notes)
	}
}

// shadowed says of rules that other rules leave them no requests at a parent.
func (r Resolved) shadowed(parent int, shadows map[ir.HostID][]ir.Shadow) []string {
	if len(shadows) == 0 {
		return nil
	}
	var hosts []ir.HostID
	for _, a := range r.attachmentsOf(parent) {
		if _, replaced := r.Instead[a.Gateway]; replaced || a.Table.IsZero() {
			continue
		}
		for _, h := range a.Hosts {
			hosts = append(hosts, a.Table.Host(h.Domain))
		}
	}
	hosts = distinct(hosts)
	slices.SortFunc(hosts, func(a, b ir.HostID) int { return cmp.Compare(a.String(), b.String()) })
	var notes []string
	for start := 0; start < len(r.Rules); {
		end := start + 1
		for end < len(r.Rules) && ruleOf(r.Rules[end].Name) == ruleOf(r.Rules[start].Name) {
			end++
		}
		var at []string
		var by ir.Shadow
		for _, host := range hosts {
			if first, all := shadowOf(r.Rules[start:end], shadows[host]); all {
				at, by = append(at, host.Domain), first
			}
		}
		if len(at) > 0 {
			notes = append(notes, r.shadowNote(ruleOf(r.Rules[start].Name), by, unique(at), len(hosts)))
		}
		start = end
	}
	return notes
}

// shadowOf is what shadows the first of the matches of a rule at a host, if all of them are shadowed there.
func shadowOf(matches []Rule, shadows []ir.Shadow) (first ir.Shadow, all bool) {
	for i, m := range matches {
		found := slices.IndexFunc(shadows, func(s ir.Shadow) bool { return s.Rule == m.Name })
		if found < 0 {
			return first, false
		}
		if i == 0 {
			first = shadows[found]
		}
	}
	return first, true
}

// maxNamedHosts is how many hostnames a message names.
const maxNamedHosts = 3

func (r Resolved) shadowNote(rule string, by ir.Shadow, at []string, hosts int) string {
	where := ""
	if len(at) < hosts {
		where = " for " + strings.Join(at[:min(len(at), maxNamedHosts)], ", ")
		if more := len(at) - maxNamedHosts; more > 0 {
			where += fmt.Sprintf(" and %d more hostnames", more)
		}
	}
	owner, winner := "", fmt.Sprintf("rule %s", ruleOf(by.By))
	if route := routeOf(by.By); route != routeOf(by.Rule) {
		owner = route
		kind, name, _ := strings.Cut(route, "/")
		winner += fmt.Sprintf(" of %s %s", kind, name)
	}
	why := "matches all of them and comes first; change one of the two"
	switch {
	case by.Same && owner == "":
		why = "has the same match and comes first; remove one of the two"
	case by.Same:
		why = "has the same match and comes first, having a more specific hostname, being older, or first by name; remove one of the two"
	case by.Regex:
		why = "matches all of them, and a prefix comes before a regular expression; " +
			"use a longer prefix or an exact path instead of the expression"
	}
	return fmt.Sprintf("rule %s gets no requests%s: %s %s", rule, where, winner, why)
}

// ruleOf is the number of the rule in the name of a match, see [ir.Rule].
func ruleOf(name string) string {
	parts := strings.Split(name, "/")
	return parts[max(len(parts)-2, 0)]
}

// routeOf is `<kind>/<namespace>/<name>` in the name of a match.
func routeOf(name string) string {
	parts := strings.SplitN(name, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}
