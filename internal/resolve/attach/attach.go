package attach

import (
	"fmt"
	"slices"
	"strings"
)

// Reference is an entry of a policy's targetRefs. It has no namespace: it refers to an object in the namespace of the policy.
type Reference struct {
	Group   string
	Kind    string
	Name    string
	Section string
}

// Exclusion is a reference that is no target, and why.
type Exclusion struct {
	Target Target
	Cause  ExclusionCause
}

// ExclusionCause is why a reference is no target.
type ExclusionCause string

// The causes.
const (
	// KindNotSupported is a kind that policies of this kind do not attach to.
	KindNotSupported ExclusionCause = "KindNotSupported"
	// SectionNotSupported is a section of a kind that can be targeted as a whole only.
	SectionNotSupported ExclusionCause = "SectionNotSupported"
	// NamespaceNotAllowed is a cluster-wide object that a policy outside Gatewright's own namespace refers to.
	NamespaceNotAllowed ExclusionCause = "NamespaceNotAllowed"
)

// Attach reads the targetRefs of a policy in a namespace. system is Gatewright's own namespace. An empty one lets no policy target what has
// no namespace.
func (k *Kind[S]) Attach(namespace, system string, references []Reference) (targets []Target, excluded []Exclusion) {
	targets = make([]Target, 0, len(references))
	for _, ref := range references {
		i := slices.IndexFunc(k.Targets, func(t TargetKind) bool { return t.Group == ref.Group && t.Kind == ref.Kind })
		if i < 0 {
			unknown := Target{Group: ref.Group, Kind: ref.Kind, Namespace: namespace, Name: ref.Name, Section: ref.Section}
			excluded = append(excluded, Exclusion{unknown, KindNotSupported})
			continue
		}
		kind := k.Targets[i]
		target := kind.Target(namespace, ref.Name, ref.Section)
		switch {
		case ref.Section != "" && kind.SectionLevel == LevelNone:
			excluded = append(excluded, Exclusion{target, SectionNotSupported})
		case kind.Cluster && (system == "" || namespace != system):
			excluded = append(excluded, Exclusion{target, NamespaceNotAllowed})
		default:
			targets = append(targets, target)
		}
	}
	return targets, excluded
}

// Notes are what to tell the author of a policy about references that are no targets, one clause for each cause.
func (k *Kind[S]) Notes(excluded []Exclusion, system string) []string {
	var kinds, sections, clusters []string
	for _, e := range excluded {
		switch e.Cause {
		case KindNotSupported:
			kinds = append(kinds, e.Target.GroupKind())
		case SectionNotSupported:
			sections = append(sections, e.Target.Object().String())
		case NamespaceNotAllowed:
			clusters = append(clusters, e.Target.String())
		}
	}
	var notes []string
	if len(kinds) > 0 {
		notes = append(notes, fmt.Sprintf("targets of these kinds are left out, only %s can be one: %s",
			k.targetNames(), strings.Join(kinds, ", ")))
	}
	if len(sections) > 0 {
		notes = append(notes, "these targets are left out, they have no sections to target; remove sectionName: "+strings.Join(sections, ", "))
	}
	if len(clusters) > 0 {
		notes = append(notes, fmt.Sprintf("these targets are left out, only a policy in namespace %s can target them: %s",
			system, strings.Join(clusters, ", ")))
	}
	return notes
}

// targetNames is `a Gateway`, or `a Service or an XBackend`.
func (k *Kind[S]) targetNames() string {
	names := make([]string, 0, len(k.Targets))
	for _, t := range k.Targets {
		article := "a "
		// Spoken letter by letter, HTTPRoute and XBackend begin with a vowel, and UDPRoute does not.
		if t.Kind != "" && strings.ContainsRune("AEIOXH", rune(t.Kind[0])) {
			article = "an "
		}
		names = append(names, article+t.Kind)
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return strings.Join(names, "")
}
