package attach

import (
	"cmp"
	"slices"
)

// Subject is what an effective policy is computed for: a listener, a rule at a listener, or a backend that a rule uses.
type Subject struct {
	// Chain has the subject and all that is above it, in any order: the GatewayClass, the Gateway, and so on.
	Chain []Target
	// Inline are the settings that the subject has in fields of the standard.
	Inline []Inline
}

// Inline is a field of the standard that says what a setting of a policy says.
type Inline struct {
	// Setting is the name of the setting.
	Setting string
	// Object has the field, at Path.
	Object Target
	Path   string
}

// Effective is the policy that results from all policies above a subject.
type Effective[S any] struct {
	Spec S
	// Origins tells where each setting is from, in the order of the kind's settings. An additive setting has one for each policy. A setting
	// that the subject has inline is from there, and is not in Spec.
	Origins []Origin
	// Losses are the settings of policies that have no effect on the subject, and why.
	Losses []Loss
	// Rejections are why the subject cannot be served. It is then the subject's status that says so, and Spec does not count.
	Rejections []Rejection
}

// Origin tells where a setting is from.
type Origin struct {
	Setting string
	// Object is a policy, or the subject for an inline field.
	Object Ref
	// Target is what the policy attaches to, or what has the inline field.
	Target Target
	// Path is the path of the field in the object.
	Path string
	// Overrides says that no more specific policy can change the setting.
	Overrides bool
	// Unknown says that the value of the setting is not known, so that it fails closed.
	Unknown bool
}

// Origin finds where a setting is from. It is false for a setting that nothing sets.
func (e *Effective[S]) Origin(setting string) (Origin, bool) {
	i := slices.IndexFunc(e.Origins, func(o Origin) bool { return o.Setting == setting })
	if i < 0 {
		return Origin{}, false
	}
	return e.Origins[i], true
}

// contribution is a policy at one of its targets.
type contribution[S any] struct {
	policy *Policy[S]
	target Target
	level  Level
}

func (c *contribution[S]) origin(setting string) Origin {
	return Origin{
		Setting: setting, Object: c.policy.Ref, Target: c.target, Path: "spec." + setting, Overrides: c.policy.Strategy == Overrides,
		Unknown: slices.Contains(c.policy.Unknown, setting),
	}
}

// Merge computes the effective policy of a subject. Policies may be in any order and may have other targets too.
//
// For each setting: of policies at one level the oldest wins, then the first by name. From the least specific level to the most specific
// one, each replaces the one above it, until one that overrides; that one stays. An inline field wins over defaults, and an override of
// an inline field rejects the subject.
func (k *Kind[S]) Merge(subject Subject, policies []*Policy[S]) Effective[S] {
	var e Effective[S]
	list := contributions(subject.Chain, policies)
	for i := range k.Settings {
		s := &k.Settings[i]
		if s.additive {
			e.add(s, list)
			continue
		}
		winner := e.resolveConflict(s, list)
		j := slices.IndexFunc(subject.Inline, func(inline Inline) bool { return inline.Setting == s.Name })
		switch {
		case j >= 0:
			e.inline(subject.Inline[j], winner)
		case winner != nil:
			s.take(&e.Spec, &winner.policy.Spec)
			e.Origins = append(e.Origins, winner.origin(s.Name))
		}
	}
	return e
}

// contributions lists the policies that attach to a chain, by level, then by precedence. A policy is listed once for each of its targets
// there.
func contributions[S any](chain []Target, policies []*Policy[S]) []contribution[S] {
	var list []contribution[S]
	for _, p := range policies {
		for _, t := range p.Targets {
			if level := t.Level(); level != LevelNone && slices.Contains(chain, t) {
				list = append(list, contribution[S]{p, t, level})
			}
		}
	}
	slices.SortFunc(list, func(a, b contribution[S]) int {
		return cmp.Or(cmp.Compare(a.level, b.level), before(a.policy, b.policy), compareTargets(a.target, b.target))
	})
	return slices.CompactFunc(list, func(a, b contribution[S]) bool { return a.policy.Ref == b.policy.Ref && a.target == b.target })
}

// add takes an additive setting from every policy that has it.
func (e *Effective[S]) add(s *Setting[S], list []contribution[S]) {
	for i := range list {
		c := &list[i]
		switch {
		case !s.has(&c.policy.Spec):
		case !s.levels.has(c.level):
			e.lose(s.Name, c, NotApplicable, Origin{})
		case slices.ContainsFunc(e.Origins, func(o Origin) bool { return o.Setting == s.Name && o.Object == c.policy.Ref }):
			// A policy with several targets in the chain adds its setting once.
		default:
			s.take(&e.Spec, &c.policy.Spec)
			e.Origins = append(e.Origins, c.origin(s.Name))
		}
	}
}

// resolveConflict finds the policy whose setting takes effect, nil where none has it. It records the losses of all others.
func (e *Effective[S]) resolveConflict(s *Setting[S], list []contribution[S]) *contribution[S] {
	known := len(e.Losses)
	var winner *contribution[S]
	for i := range list {
		c := &list[i]
		switch {
		case !s.has(&c.policy.Spec):
		case !s.levels.has(c.level):
			e.lose(s.Name, c, NotApplicable, Origin{})
		case winner != nil && winner.level == c.level:
			e.lose(s.Name, c, Conflicted, winner.origin(s.Name))
		case winner != nil && winner.policy.Strategy == Overrides:
			e.lose(s.Name, c, Overridden, winner.origin(s.Name))
		default:
			if winner != nil {
				e.lose(s.Name, winner, Replaced, c.origin(s.Name))
			}
			winner = c
		}
	}
	if winner != nil {
		// A policy with several targets in the chain may lose at one and win at another.
		others := slices.DeleteFunc(e.Losses[known:], func(l Loss) bool { return l.Policy == winner.policy.Ref })
		e.Losses = e.Losses[:known+len(others)]
	}
	return winner
}

// inline weighs a field of the standard against the policy that would decide, if there is one.
func (e *Effective[S]) inline(inline Inline, winner *contribution[S]) {
	origin := Origin{
		Setting: inline.Setting, Target: inline.Object, Path: inline.Path,
		Object: Ref{Kind: inline.Object.Kind, Namespace: inline.Object.Namespace, Name: inline.Object.Name},
	}
	e.Origins = append(e.Origins, origin)
	switch {
	case winner == nil:
	case winner.policy.Strategy == Overrides:
		e.Rejections = append(e.Rejections, Rejection{Inline: inline, Override: winner.origin(inline.Setting)})
		e.lose(inline.Setting, winner, RejectsInline, origin)
	default:
		e.lose(inline.Setting, winner, Replaced, origin)
	}
}

// lose records a setting that has no effect. A policy does not lose to itself, at another target.
func (e *Effective[S]) lose(setting string, loser *contribution[S], cause Cause, winner Origin) {
	if winner.Object != loser.policy.Ref {
		e.Losses = append(e.Losses, Loss{Setting: setting, Policy: loser.policy.Ref, Target: loser.target, Cause: cause, Winner: winner})
	}
}
