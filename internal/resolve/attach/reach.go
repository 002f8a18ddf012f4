package attach

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// Reach is one object that a policy applies to through one of its targets, seen from one Gateway.
type Reach struct {
	// Gateway is `namespace/name` of the ancestor, empty where no Gateway of ours has to do with the target.
	Gateway string
	// Target is one of the policy's targets, and Subject what is reached through it: the target itself, or a rule or a listener below it.
	Target  Target
	Subject Target
	// Missing says what of the target does not exist, or what the policy needs and the Gateway does not have, nil for nothing.
	Missing *refs.Problem
	// NotServed says that proxies do not serve the subject, a listener.
	NotServed bool
	// Losses are those of the subject. Those of other policies are ignored.
	Losses []Loss
	// Others is how many more objects are reached in the same way, below the subject and without losses of their own.
	Others int
}

// Neighbours are what a policy has to be seen with in order to find what it reaches.
type Neighbours[S any] struct {
	// Policies lists all policies of the kind that target an object or a section of it.
	Policies func(Target) []*Policy[S]
	// Missing says what of a target does not exist, nil if it all does.
	Missing func(Target) *refs.Problem
	// Gateways lists the Gateways, by `namespace/name`, that have to do with a target.
	Gateways func(Target) []string
}

// Direct lists what a policy reaches that applies to its targets alone.
func (k *Kind[S]) Direct(p *Policy[S], n Neighbours[S]) []Reach {
	var reaches []Reach
	for _, t := range p.Targets {
		gateways := n.Gateways(t)
		if len(gateways) == 0 {
			continue
		}
		reach := Reach{Target: t, Subject: t, Missing: n.Missing(t)}
		if reach.Missing == nil {
			merged := k.Merge(Subject{Chain: []Target{t}}, n.Policies(t))
			reach.Losses = merged.Losses
		}
		for _, gateway := range gateways {
			reach.Gateway = gateway
			reaches = append(reaches, reach)
		}
	}
	return reaches
}

// NotFound is the problem of a target that does not exist.
func NotFound(t Target) *refs.Problem {
	return &refs.Problem{
		Reason:  string(gwv1.PolicyReasonTargetNotFound),
		Message: t.Object().String() + " does not exist; create it, or correct the target",
	}
}

// SectionNotFound is the problem of a section that does not exist. names are those that do, and noun is what one is called.
func SectionNotFound(t Target, noun string, names []string) *refs.Problem {
	return &refs.Problem{
		Reason: string(gwv1.PolicyReasonTargetNotFound),
		Message: fmt.Sprintf("%s has no %s named %q, so the policy has no effect there; its %ss are named %q: correct sectionName, or the name",
			t.Object(), noun, t.Section, lastWord(noun), names),
	}
}

// notServed names the targets of which proxies serve nothing. all says that there is no other target.
func notServed(reaches []Reach) (messages []string, all bool) {
	all = true
	for group := range chunks(reaches, func(a, b Reach) bool { return a.Gateway == b.Gateway && a.Target == b.Target }) {
		if slices.ContainsFunc(group, func(r Reach) bool { return !r.NotServed }) {
			all = false
			continue
		}
		message := fmt.Sprintf("%s is not served; see its conditions", group[0].Target)
		if group[0].Target.Section == "" {
			message = fmt.Sprintf("no listener of %s is served; see their conditions", group[0].Target)
		}
		messages = append(messages, message)
	}
	return messages, all && len(messages) > 0
}

// inOrder sorts what a policy reaches by Gateway, then by the order of its targets. One object can be there several times, at several
// listeners.
func inOrder(targets []Target, reaches []Reach) []Reach {
	sorted := slices.Clone(reaches)
	slices.SortStableFunc(sorted, func(a, b Reach) int {
		return cmp.Or(
			cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(slices.Index(targets, a.Target), slices.Index(targets, b.Target)),
			compareTargets(a.Target, b.Target), compareTargets(a.Subject, b.Subject), compareLosses(a.Losses, b.Losses),
		)
	})
	return sorted
}

func compareLosses(a, b []Loss) int {
	return slices.CompareFunc(a, b, func(x, y Loss) int {
		return cmp.Or(
			cmp.Compare(x.Setting, y.Setting), cmp.Compare(x.Policy.Key(), y.Policy.Key()), cmp.Compare(x.message(false), y.message(false)),
		)
	})
}

// lastWord is `port` of `TCP port`.
func lastWord(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }
