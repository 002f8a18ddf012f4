package attach

import (
	"cmp"

	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Ref names an object. It is comparable.
type Ref struct {
	Kind      string
	Namespace string
	Name      string
}

// Key is the key of the object in its table.
func (r Ref) Key() string { return store.Key(r.Namespace, r.Name) }

// String is the object as messages call it.
func (r Ref) String() string { return r.Kind + " " + r.Key() }

// Strategy is what a policy's settings mean for more specific policies.
type Strategy string

// The strategies. The empty one is Defaults.
const (
	// Defaults lets more specific policies replace a setting.
	Defaults Strategy = "Defaults"
	// Overrides does not.
	Overrides Strategy = "Overrides"
)

// Policy is a policy of any kind, whether or not it is the one that decides. S has its settings.
type Policy[S any] struct {
	Ref Ref
	// Created takes part in precedence: the older policy wins, then the one whose `namespace/name` sorts first.
	Created    int64
	Generation int64
	// Targets are in the order of the spec. Excluded are the references that are no targets of this kind, in the same order.
	Targets  []Target
	Excluded []Exclusion
	Strategy Strategy
	Spec     S
	// Accepted says why the policy cannot be served, ResolvedRefs what is wrong with its references; nil if nothing is. A policy that
	// cannot be served keeps its precedence for every setting that its Spec has: if the next one decided instead, it could permit what this
	// one forbids. So a setting that could not be resolved must be there all the same.
	Accepted     *refs.Problem
	ResolvedRefs *refs.Problem
	// Unknown are the settings that are there, without a value that is known, so that they fail closed.
	Unknown []string
	// Serves is the message of a policy that is accepted. Notes are what its author should know besides, each a clause.
	Serves string
	Notes  []string
}

// before says whether a policy takes precedence over another one of its kind with the same target. Gateway API, policy attachment: the
// oldest wins, then the first in alphabetical order of `namespace/name`.
func before[S any](p, other *Policy[S]) int {
	return cmp.Or(cmp.Compare(p.Created, other.Created), cmp.Compare(p.Ref.Key(), other.Ref.Key()))
}

// Kind describes a kind of policy.
type Kind[S any] struct {
	Name string
	// Targets are the kinds of objects that it can target.
	Targets []TargetKind
	// Settings are the units of merging. The status of a kind with one setting speaks of the policy instead of the setting.
	Settings []Setting[S]
	// ResolvedRefs says that its policies refer to other objects, and have a condition about that.
	ResolvedRefs bool
	// Inherited says that its policies apply to what is below their targets too. Those have status of their own in addition: conditions of
	// the policy as a whole, a summary, a condition Programmed where settings have no effect, and failing ancestors before all others.
	Inherited bool
}
