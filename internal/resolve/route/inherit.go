package route

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/store"
)

// policiesOf are the layers of policies on a route and its rules. Most routes have none.
func (in Inputs) policiesOf(v *store.View, kind store.Kind, name ir.Name) inherit.Sectioned {
	if in.Policies == nil {
		return nil
	}
	layers, _ := in.Policies.Get(v, store.KindKey(kind, name.String()))
	return layers
}

// inherit adds what policies on the route and the rule say to what the rule says itself. Of what cannot be served it returns a message.
func (r *resolver) inherit(rule string, a *action) string {
	layer := r.layers.Of(rule)
	if layer == nil {
		return ""
	}
	own := a.policy
	if own.IsZero() {
		own = nil
	}
	policy, rejections := layer.Requests(own, r.target)
	if len(rejections) > 0 {
		for _, rejection := range rejections {
			r.rejected = append(r.rejected, Rejected{strconv.Itoa(r.problems.at.rule), rejection})
		}
		return rejections[0].Problem(gwv1.RouteReasonUnsupportedValue).Message
	}
	a.policy, a.destination = policy, layer.Destination
	return ""
}

// protected says whether policies on the route or the rule may refuse requests.
func (r *resolver) protected(rule string) bool {
	layer := r.layers.Of(rule)
	return layer != nil && layer.Request.Protection() != nil
}

// upper are the policies above the rules of a listener.
type upper struct {
	layer *inherit.Layer
	// merged are the settings of rules that were merged before.
	merged map[*ir.RequestPolicy]mergedPolicy
}

type mergedPolicy struct {
	policy   *ir.RequestPolicy
	rejected bool
}

// inherit is a rule with the settings that it inherits. One that has none of its own has those of the host. One that policies above it
// reject, or that cannot ask as its policies want, answers an error.
func (u *upper) inherit(rule Rule, own ir.Rule) ir.Rule {
	if u.layer != nil && own.Policy != nil {
		known, ok := u.merged[own.Policy]
		if !ok {
			policy, rejections := u.layer.Requests(own.Policy, attach.Target{})
			known = mergedPolicy{policy, len(rejections) > 0}
			if u.merged == nil {
				u.merged = map[*ir.RequestPolicy]mergedPolicy{}
			}
			u.merged[own.Policy] = known
		}
		if known.rejected {
			return failingRule(rule)
		}
		own.Policy = known.policy
	}
	policy := own.Policy
	if policy == nil && u.layer != nil {
		policy = u.layer.Request
	}
	if answers(rule) && policy.AsksWithContext() {
		return failingRule(rule)
	}
	return inVariant(own, ir.VariantOf(u.destination(), rule.Destination))
}

func failingRule(rule Rule) ir.Rule {
	kind, _, _ := ObjectOf(rule.Name)
	return ir.Rule{Name: rule.Name, Match: rule.Match, Fail: failure(string(kind))}
}

func (u *upper) destination() *ir.DestinationLayer {
	if u.layer == nil {
		return nil
	}
	return u.layer.Destination
}

// inVariant sends the requests of a rule to a variant of its backends.
func inVariant(rule ir.Rule, variant string) ir.Rule {
	if variant == "" || rule.Forward == nil {
		return rule
	}
	forward := *rule.Forward
	forward.Backends = slices.Clone(forward.Backends)
	for i := range forward.Backends {
		forward.Backends[i].Backend = forward.Backends[i].Backend.With(variant)
	}
	rule.Forward = &forward
	return rule
}

// streamAt is where connections that come by a listener are sent.
func (r Resolved) streamAt(gateway, listener string) *ir.Stream {
	variant := ""
	for _, a := range r.Attachments {
		if a.Gateway == gateway && a.Listener == listener {
			variant = ir.VariantOf(a.Destination, r.Destination)
		}
	}
	return r.Stream.With(variant)
}

// varies says whether the connections of the route to its backends have settings of the route, or of a listener.
func (r Resolved) varies(a Attachment) bool {
	return a.Destination != nil || r.Destination != nil ||
		slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.Destination != nil })
}

// variantsAt are the backends of the route at a listener, in the variants that it uses there.
func (r Resolved) variantsAt(a Attachment) []ir.Backend {
	needs := ir.NeedsOf(r.Stream.With(ir.VariantOf(a.Destination, r.Destination)))
	for _, rule := range r.Rules {
		own := inVariant(rule.Rule, ir.VariantOf(a.Destination, rule.Destination))
		needs.Add(&own)
	}
	return needs.Backends()
}

// DestinationLayers are the settings of the route and its listeners for connections to backends, by digest.
func (r Resolved) DestinationLayers() map[string]*ir.DestinationLayer {
	var layers map[string]*ir.DestinationLayer
	add := func(l *ir.DestinationLayer) {
		if l == nil {
			return
		}
		if layers == nil {
			layers = map[string]*ir.DestinationLayer{}
		}
		layers[l.Digest] = l
	}
	for served := range r.parts() {
		add(served.Destination)
		for i := range served.Rules {
			add(served.Rules[i].Destination)
		}
		for i := range served.Attachments {
			add(served.Attachments[i].Destination)
		}
	}
	return layers
}

// Rejected is a rule that a policy above the route rejects at a listener.
type Rejected struct {
	// Rule is its number in the spec.
	Rule string
	attach.Rejection
}

// Rejections are the rules that the policies of a listener reject, each once.
func (r Resolved) Rejections(layer *inherit.Layer) []Rejected {
	if !layer.Locks() {
		return nil
	}
	var list []Rejected
	target, _ := inherit.RouteTarget(store.KindKey(store.Kind(r.Kind), r.Name.String()), "")
	for i, rule := range r.Rules {
		if rule.Policy == nil || i > 0 && ruleOf(rule.Name) == ruleOf(r.Rules[i-1].Name) {
			continue
		}
		target.Section = ruleOf(rule.Name)
		_, rejections := layer.Requests(rule.Policy, target)
		for _, rejection := range rejections {
			list = append(list, Rejected{target.Section, rejection})
		}
	}
	return list
}

// RejectedByOwn are the rules that policies on the route reject.
func (r Resolved) RejectedByOwn() []Rejected { return r.rejected }

// RuleCount is how many rules of the spec are served, 1 for a route that forwards whole connections.
func (r Resolved) RuleCount() int {
	if r.Stream != nil {
		return 1
	}
	count := 0
	for i, rule := range r.Rules {
		if i == 0 || ruleOf(rule.Name) != ruleOf(r.Rules[i-1].Name) {
			count++
		}
	}
	return count
}

// RulesByListener is how many rules the route has at each listener, by [ir.ListenerID].
func (r Resolved) RulesByListener() map[string]int {
	if len(r.Attachments) == 0 {
		return nil
	}
	rules := make(map[string]int, len(r.Attachments))
	for _, a := range r.Attachments {
		rules[a.ID().String()] = r.RuleCount()
	}
	return rules
}

// hasSettings says whether a rule has settings of its own.
func (r Resolved) hasSettings() bool {
	return slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.Policy != nil })
}

// reject reports the rules that policies reject at the listeners of a parent.
func (r Resolved) reject(parent int, layers func(ir.ListenerID) *inherit.Layer, conditions []outcome.Condition) []outcome.Condition {
	if layers == nil || !r.hasSettings() && !slices.ContainsFunc(r.Rules, answers) {
		return conditions
	}
	var messages, rules []string
	for _, a := range r.attachmentsOf(parent) {
		layer := layers(a.ID())
		problems := r.withoutContext(layer)
		for _, rejected := range r.Rejections(layer) {
			problems = append(problems, ruleProblem{rejected.Rule, rejected.Problem(gwv1.RouteReasonUnsupportedValue).Message})
		}
		for _, p := range problems {
			if message := fmt.Sprintf("rule %s: %s", p.rule, p.message); !slices.Contains(messages, message) {
				messages, rules = append(messages, message), append(rules, p.rule)
			}
		}
	}
	if len(messages) == 0 {
		return conditions
	}
	conditions = slices.Clone(conditions)
	if len(unique(rules)) == r.RuleCount() {
		conditions[0] = notAttached(gwv1.RouteReasonUnsupportedValue, strings.Join(messages, "; "))
		return conditions
	}
	message := fmt.Sprintf("Dropped Rule: these requests are answered %d: %s", failure(r.Kind).StatusCode, strings.Join(messages, "; "))
	invalid := string(gwv1.RouteConditionPartiallyInvalid)
	if i := slices.IndexFunc(conditions, func(c outcome.Condition) bool { return c.Type == invalid }); i >= 0 {
		conditions[i].Message += "; " + strings.Join(messages, "; ")
		return conditions
	}
	return append(conditions, outcome.Condition{
		Type: invalid, State: outcome.True, Reason: string(gwv1.RouteReasonUnsupportedValue), Message: message,
	})
}
