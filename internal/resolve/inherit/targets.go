package inherit

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// New is what every policy of our own API has: its precedence, its strategy and its targets.
func New[S any](
	v *store.View, objects *store.Objects, kind *attach.Kind[S], object metav1.Object, targets *v1alpha1.PolicyTargets,
) attach.Policy[S] {
	p := attach.Policy[S]{
		Ref:     attach.Ref{Kind: kind.Name, Namespace: object.GetNamespace(), Name: object.GetName()},
		Created: object.GetCreationTimestamp().Unix(), Generation: object.GetGeneration(),
	}
	if targets.Strategy != nil {
		p.Strategy = attach.Strategy(*targets.Strategy)
	}
	takeTargets(v, objects, kind, targets, &p)
	return p
}

// takeTargets finds what the policy attaches to.
func takeTargets[S any](
	v *store.View, objects *store.Objects, kind *attach.Kind[S], spec *v1alpha1.PolicyTargets, p *attach.Policy[S],
) {
	list := slices.Clone(spec.TargetRefs)
	if spec.TargetRef != nil {
		list = append(list, *spec.TargetRef)
	}
	references := make([]attach.Reference, 0, len(list))
	for _, ref := range list {
		reference := attach.Reference{Group: string(ref.Group), Kind: string(ref.Kind), Name: string(ref.Name)}
		if ref.SectionName != nil {
			reference.Section = string(*ref.SectionName)
		}
		references = append(references, reference)
	}
	p.Targets, p.Excluded = kind.Attach(p.Ref.Namespace, objects.System, references)
	p.Notes = append(p.Notes, kind.Notes(p.Excluded, objects.System)...)
	selectors := selectorsOf(spec.TargetSelectors)
	selected, found, problem := selectTargets(v, objects, kind, p.Ref.Namespace, selectors)
	if problem != nil {
		p.Accepted = problem
	} else {
		p.Notes = append(p.Notes, kind.Unselected(v1alpha1.GroupName, p.Ref.Namespace, selectors, found)...)
	}
	for _, t := range selected {
		if !slices.Contains(p.Targets, t) {
			p.Targets = append(p.Targets, t)
		}
	}
}

func selectorsOf(spec []v1alpha1.PolicyTargetSelector) []attach.Selector {
	selectors := make([]attach.Selector, 0, len(spec))
	for _, s := range spec {
		everywhere := s.Namespaces != nil && s.Namespaces.From != nil && *s.Namespaces.From == gwv1.NamespacesFromAll
		group := gwv1.GroupName
		if s.Group != nil {
			group = string(*s.Group)
		}
		selectors = append(selectors, attach.Selector{
			Group: group, Kind: string(s.Kind), AllNamespaces: everywhere,
			Labels: metav1.LabelSelector{MatchLabels: s.MatchLabels, MatchExpressions: s.MatchExpressions},
		})
	}
	return selectors
}

func selectTargets[S any](
	v *store.View, objects *store.Objects, kind *attach.Kind[S], namespace string, selectors []attach.Selector,
) ([]attach.Target, []bool, *refs.Problem) {
	var candidates []attach.Candidate
	for _, s := range selectors {
		candidates = append(candidates, candidatesOf(v, objects, s.Kind, namespace, s.AllNamespaces)...)
	}
	return kind.Select(namespace, selectors, candidates, func(t attach.Target) bool {
		from := refs.Origin{Group: v1alpha1.GroupName, Kind: kind.Name, Namespace: namespace}
		return refs.Permitted(v, objects, from, refs.Target{Group: t.Group, Kind: t.Kind, Namespace: t.Namespace, Name: t.Name})
	})
}

// candidatesOf are the objects of a kind in a namespace, or in all.
func candidatesOf(v *store.View, objects *store.Objects, kind, namespace string, all bool) []attach.Candidate {
	switch kind {
	case attach.Gateways.Kind:
		return labelled(v, objects.Gateways, attach.Gateways, namespace, all)
	case attach.ListenerSets.Kind:
		return labelled(v, objects.ListenerSets, attach.ListenerSets, namespace, all)
	case attach.HTTPRoutes.Kind:
		return labelled(v, objects.HTTPRoutes, attach.HTTPRoutes, namespace, all)
	case attach.GRPCRoutes.Kind:
		return labelled(v, objects.GRPCRoutes, attach.GRPCRoutes, namespace, all)
	case attach.TLSRoutes.Kind:
		return labelled(v, objects.TLSRoutes, attach.TLSRoutes, namespace, all)
	case attach.TCPRoutes.Kind:
		return labelled(v, objects.TCPRoutes, attach.TCPRoutes, namespace, all)
	case attach.UDPRoutes.Kind:
		return labelled(v, objects.UDPRoutes, attach.UDPRoutes, namespace, all)
	case attach.Services.Kind:
		return labelled(v, objects.Services, attach.Services, namespace, all)
	case attach.XBackends.Kind:
		return labelled(v, objects.XBackends, attach.XBackends, namespace, all)
	case attach.InferencePools.Kind:
		return labelled(v, objects.InferencePools, attach.InferencePools, namespace, all)
	case attach.ServiceImports.Kind:
		return labelled(v, objects.ServiceImports, attach.ServiceImports, namespace, all)
	default:
		return nil
	}
}

func labelled[O metav1.Object](
	v *store.View, table *store.Table[O], kind attach.TargetKind, namespace string, all bool,
) []attach.Candidate {
	var list []attach.Candidate
	for _, key := range table.Keys(v) {
		own, name := store.SplitKey(key)
		if !all && own != namespace {
			continue
		}
		if object, ok := table.Get(v, key); ok {
			list = append(list, attach.Candidate{Target: kind.Target(own, name, ""), Labels: object.GetLabels()})
		}
	}
	return list
}
