package attach

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// Cause is why a setting of a policy has no effect on a subject.
type Cause string

// The causes.
const (
	// Conflicted is a setting that a policy with the same target has too, which takes precedence.
	Conflicted Cause = "Conflicted"
	// Overridden is a setting that a less specific policy overrides.
	Overridden Cause = "Overridden"
	// Replaced is a default that a more specific policy or an inline field replaces. That is what defaults are for, so it is not reported.
	Replaced Cause = "Replaced"
	// NotApplicable is a setting that has no meaning for what the policy targets.
	NotApplicable Cause = "NotApplicable"
	// RejectsInline is an override of an inline field. The subject is rejected.
	RejectsInline Cause = "RejectsInline"
)

// Loss is a setting of a policy that has no effect on a subject.
type Loss struct {
	Setting string
	// Policy loses, at that target.
	Policy Ref
	Target Target
	Cause  Cause
	// Winner is what takes effect instead, or the inline field. It is empty for what is not applicable.
	Winner Origin
	// Detail says why a setting is not applicable, and what to do; empty for the usual reason.
	Detail string
}

// message says which object wins and what to do. single says that the policy has no setting but this one.
func (l Loss) message(single bool) string {
	const unknown = "its %s is not known, so requests are answered with an error; see its conditions"
	switch l.Cause {
	case Conflicted:
		if l.Winner.Unknown {
			return fmt.Sprintf("%s targets the same %s and takes precedence, being older or first by name; "+unknown,
				l.Winner.Object, l.Target, l.Setting)
		}
		if single {
			return fmt.Sprintf("%s targets the same %s and takes precedence, being older or first by name; remove one of the two",
				l.Winner.Object, l.Target)
		}
		return fmt.Sprintf("%s sets %s for the same %s and takes precedence, being older or first by name; remove it from one of the two",
			l.Winner.Object, l.Setting, l.Target)
	case Overridden:
		if l.Winner.Unknown {
			return fmt.Sprintf("%s overrides settings for all of %s; "+unknown, l.Winner.Object, l.Winner.Target, l.Setting)
		}
		return fmt.Sprintf("%s overrides %s for all of %s; remove it here, or set the strategy of that policy to %s",
			l.Winner.Object, l.Setting, l.Winner.Target, Defaults)
	case NotApplicable:
		if l.Detail != "" {
			return l.Detail
		}
		return fmt.Sprintf("%s has no effect on %s; set it on another target", l.Setting, l.Target)
	case RejectsInline:
		return fmt.Sprintf("%s has %s of its own and is rejected, since this policy overrides %s; "+
			"remove the field there, or set the strategy to %s", l.Winner.Target, l.Winner.Path, l.Setting, Defaults)
	case Replaced:
		return fmt.Sprintf("%s replaces %s for %s", l.Winner.Object, l.Setting, l.Winner.Target)
	default:
		return fmt.Sprintf("%s has no effect on %s", l.Setting, l.Target)
	}
}

// reported says whether the author of the policy has to know.
func (l Loss) reported() bool { return l.Cause != Replaced }

// OverriddenBy is the loss of a setting of a policy to one above it that overrides the setting.
func OverriddenBy(loser, winner Origin) Loss {
	return Loss{Setting: loser.Setting, Policy: loser.Object, Target: loser.Target, Cause: Overridden, Winner: winner}
}

// Rejection is why a subject cannot be served: it has an inline field that a policy overrides. Neither may silently replace the other, by
// the rule of GEP-1494.
type Rejection struct {
	Inline   Inline
	Override Origin
}

// Loss is the setting of the override, which has no effect on the subject.
func (r Rejection) Loss() Loss {
	return Loss{
		Setting: r.Override.Setting, Policy: r.Override.Object, Target: r.Override.Target, Cause: RejectsInline,
		Winner: Origin{Setting: r.Inline.Setting, Target: r.Inline.Object, Path: r.Inline.Path, Object: r.Inline.Object.Ref()},
	}
}

// Problem is what the status of the subject says.
func (r Rejection) Problem(reason gwv1.RouteConditionReason) *refs.Problem {
	return &refs.Problem{
		Reason: string(reason),
		Message: fmt.Sprintf("%s of %s is overridden by %s of %s, which targets %s; remove the field, or change the policy",
			r.Inline.Path, r.Inline.Object, r.Override.Path, r.Override.Object, r.Override.Target),
	}
}
