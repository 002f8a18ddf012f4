package route

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
)

// At is what is served of the route at a Gateway.
func (r Resolved) At(gateway string) Resolved {
	if instead, ok := r.Instead[gateway]; ok {
		return instead
	}
	return r
}

// parts are what is served of the route, by where: at Gateways that have something instead, and at all others. Every index of routes goes
// through them, so a route without such Gateways takes no memory for it.
func (r Resolved) parts() iter.Seq[Resolved] {
	return func(yield func(Resolved) bool) {
		if len(r.Instead) == 0 {
			yield(r)
			return
		}
		r.partsByGateway(yield)
	}
}

func (r Resolved) partsByGateway(yield func(Resolved) bool) {
	rest := r
	rest.Attachments = slices.DeleteFunc(slices.Clone(r.Attachments), func(a Attachment) bool {
		_, replaced := r.Instead[a.Gateway]
		return replaced
	})
	if !yield(rest) {
		return
	}
	for _, gateway := range slices.Sorted(maps.Keys(r.Instead)) {
		if !yield(r.Instead[gateway]) {
			return
		}
	}
}

// partsAndRejected are the parts, and what proxies refuse where they have something instead. The clusters of that stay, so that it is seen
// when one of them changes that is the cause. Those of what a Gateway has no room for do not.
func (r Resolved) partsAndRejected() iter.Seq[Resolved] {
	return func(yield func(Resolved) bool) {
		if len(r.Instead) > 0 {
			rejected := r
			rejected.Attachments = slices.DeleteFunc(slices.Clone(r.Attachments), func(a Attachment) bool {
				instead, replaced := r.Instead[a.Gateway]
				return !replaced || instead.BeyondLimit
			})
			if !yield(rejected) {
				return
			}
		}
		for part := range r.parts() {
			if !yield(part) {
				return
			}
		}
	}
}

// With has something else served at a Gateway.
func (r Resolved) With(gateway string, instead Resolved) Resolved {
	r.Instead = maps.Clone(r.Instead)
	if r.Instead == nil {
		r.Instead = map[string]Resolved{}
	}
	r.Instead[gateway] = instead
	return r
}

// Gateways are those it attaches to, sorted.
func (r Resolved) Gateways() []string {
	var gateways []string
	for _, a := range r.Attachments {
		gateways = append(gateways, a.Gateway)
	}
	return unique(gateways)
}

// Part is what proxies of one Gateway need to know of the route, and its generation.
func (r Resolved) Part(gateway string) Resolved {
	part := r.At(gateway)
	return Resolved{
		Kind: part.Kind, Name: part.Name, Created: part.Created, Rules: part.Rules, Backends: part.Backends,
		Attachments: slices.DeleteFunc(slices.Clone(part.Attachments), func(a Attachment) bool { return a.Gateway != gateway }),
		Outcome:     outcome.Route{Generation: part.Outcome.Generation},
	}
}

// SameRules says whether two versions of a route have proxies do the same.
func (r Resolved) SameRules(other Resolved) bool { return reflect.DeepEqual(r.Rules, other.Rules) }

// Replaces says whether an earlier version may be served instead of a refused one, see [Resolved.InsteadOf]. Whether it may still refer to
// a backend in another namespace is known only of those that the refused one refers to as well.
func (r Resolved) Replaces(refused Resolved) bool {
	if r.SameRules(refused) || !r.guardsLike(refused) {
		return false
	}
	return !slices.ContainsFunc(r.Backends, func(b ir.Backend) bool {
		return !slices.Contains(refused.Backends, b) && b.Object.Namespace != r.Name.Namespace
	})
}

// guardsLike says whether no rule lets a request pass that a rule of another version would guard: one with the same match has the same
// guard, and one with a match that the other version does not have is guarded as all rules there that are.
func (r Resolved) guardsLike(other Resolved) bool {
	wanted := other.guards()
	guarded := slices.DeleteFunc(slices.Collect(maps.Values(wanted)), func(g *ir.RuleGuard) bool { return g == nil })
	return !slices.ContainsFunc(r.Rules, func(rule Rule) bool {
		own := rule.Guard()
		differs := func(g *ir.RuleGuard) bool { return !reflect.DeepEqual(g, own) }
		switch guard, known := wanted[matchText(rule.Match)]; {
		case own != nil && own.Closed:
			return false
		case known:
			return guard != nil && differs(guard)
		default:
			return slices.ContainsFunc(guarded, differs)
		}
	})
}

// guards are those of the rules, by their matches. The first rule of a match counts.
func (r Resolved) guards() map[string]*ir.RuleGuard {
	guards := make(map[string]*ir.RuleGuard, len(r.Rules))
	for i := range r.Rules {
		if text := matchText(r.Rules[i].Match); guards[text] == nil {
			guards[text] = r.Rules[i].guard()
		}
	}
	return guards
}

// guard is that of the rule, whether or not there is a backend for its requests.
func (r Rule) guard() *ir.RuleGuard {
	rule := r.Rule
	if !r.Unchecked {
		rule.Fail = nil
	}
	return rule.Guard()
}

// matchText is the same for equal matches.
func matchText(m ir.Match) string {
	cookies := m.Cookies.All()
	m.Cookies = nil
	return fmt.Sprintf("%+v %+v", m, cookies)
}

// Elsewhere has the rules of a version that replaces another for hostnames that it did not have: it takes no requests there that others may
// guard.
type Elsewhere struct {
	// Known are the domains that it had, with the specificity of its own hostnames there.
	Known map[ir.DomainID]int
	Rules []Rule
}

// rulesAt are the rules for a domain of a listener.
func (r Resolved) rulesAt(domain ir.DomainID) []Rule {
	if r.Elsewhere == nil {
		return r.Rules
	}
	if known, ok := r.Elsewhere.Known[domain]; ok && known == mostSpecific(r, domain.Listener, domain.Domain) {
		return r.Rules
	}
	return r.Elsewhere.Rules
}

// InsteadOf is an earlier version that replaces a refused one. Where it does not have a match of a rule that guards something, these
// requests are answered with an error, and so are those of the refused one for hostnames that it did not have.
func (r Resolved) InsteadOf(refused Resolved) Resolved {
	has := map[string]bool{}
	for _, rule := range r.Rules {
		has[matchText(rule.Match)] = true
	}
	// Errors come first: where the standard leaves two matches to their order, no request passes.
	var rules []Rule
	for _, rule := range refused.Rules {
		if rule.guard() != nil && !has[matchText(rule.Match)] {
			// Another rule of the earlier version may have the name.
			rule.Name = fmt.Sprintf("%s/%s (rejected)%s", routeOf(rule.Name), ruleOf(rule.Name), rule.Name[strings.LastIndex(rule.Name, "/"):])
			rules = append(rules, rule.closed())
		}
	}
	r.Rules = append(rules, r.Rules...)
	r.Elsewhere = &Elsewhere{Known: map[ir.DomainID]int{}, Rules: refused.cheaply().Rules}
	for _, domain := range r.Domains() {
		r.Elsewhere.Known[domain] = mostSpecific(r, domain.Listener, domain.Domain)
	}
	return r
}

// On is an earlier version where the route attaches today: hostnames and listeners that it no longer has are not served.
func (r Resolved) On(current Resolved, gateway string) Resolved {
	r.Attachments = nil
	if len(r.Rules) > 0 || r.Stream != nil {
		r.Attachments = current.Part(gateway).Attachments
	}
	return r
}

// Closed is the route with every rule answering an error, so that no wider route takes its requests.
func (r Resolved) Closed() Resolved {
	rules := make([]Rule, 0, len(r.Rules))
	for _, rule := range r.Rules {
		closed := failing(r.Kind).rule(rule.Name, rule.Match)
		closed.Rest = rule.Rest
		rules = append(rules, closed.at(rule.rank))
	}
	r.Rules, r.Backends = rules, nil
	return r
}

// Widened is the route with errors for all that its rules may match, by paths that proxies do not reject.
func (r Resolved) Widened() Resolved {
	rules := make([]Rule, 0, len(r.Rules))
	for _, rule := range r.Rules {
		wide := failing(r.Kind).rule(rule.Name, ir.Match{Path: widened(rule.Match.Path), GRPC: rule.Match.GRPC})
		wide.Rest = rule.Rest
		rules = append(rules, wide.at(rule.rank))
	}
	r.Rules, r.Backends, r.Expressions = rules, nil, 0
	return r
}

// widened is a path for at least what this one takes. Where an expression has no segment that all its texts begin with, it is a small one
// for what they do begin with: other routes keep all other paths.
func widened(path ir.StringMatch) ir.StringMatch {
	wide := path.Widened()
	if path.Kind == ir.Regex && wide.Value == "/" && len(ir.LiteralBeginning(path.Value)) > len("/") {
		return ir.StringMatch{Kind: ir.Regex, Value: anyLines + beginsAs(path.Value, longestClosed)}
	}
	return wide
}

// ClosedHostnames is the route with an error for every request for its hostnames that no rule of another namespace matches.
func (r Resolved) ClosedHostnames() Resolved {
	r.Rules, r.Backends, r.Expressions = []Rule{closedHostnames(r.Kind, r.Name)}, nil, 0
	return r
}

// Origins are the objects beside the route that rules of these names have settings from, sorted.
func (r Resolved) Origins(names []string) []ir.ObjectRef {
	var origins []ir.ObjectRef
	for _, rule := range r.Rules {
		if rule.Policy != nil && slices.Contains(names, rule.Name) {
			origins = append(origins, rule.Policy.Objects()...)
		}
	}
	slices.SortFunc(origins, ir.ObjectRef.Compare)
	return slices.Compact(origins)
}

// Encode encodes a part of a route for other replicas, with its secrets; see [ir.EncodeForReplicas].
func (r Resolved) Encode() ([]byte, error) {
	text, err := ir.EncodeForReplicas(r)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", r.Kind, r.Name, err)
	}
	return text, nil
}

// Decode is the inverse of Encode.
func Decode(text []byte) (Resolved, error) {
	var r Resolved
	if err := ir.DecodeFromReplica(text, &r); err != nil {
		return Resolved{}, fmt.Errorf("decode a route: %w", err)
	}
	for i := range r.Rules {
		r.Rules[i] = r.Rules[i].placed()
	}
	return r, nil
}
