package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/store"
)

// Inputs are the tables a route is resolved from.
type Inputs struct {
	Objects *store.Objects
	Parents *store.Table[gateway.Parent]
	// Defaults has the Gateways that take routes which do not name them, by [gateway.Resolved.Scopes].
	Defaults *store.Index[gateway.Resolved]
	// Policies has the layers of policies on routes and their rules, by [store.KindKey]; nil for none.
	Policies *store.Table[inherit.Sectioned]
	// Size measures rules; nil does not.
	Size SizeOf
}

// binding is what attaching a route to its parents gave.
type binding struct {
	attachments []Attachment
	parents     []outcome.Parent
	// listeners has, for each of parents, the listeners that accept the route.
	listeners [][]ir.ListenerID
}

// subject is the part of a route that binding needs.
type subject struct {
	kind      string
	namespace string
	spec      gwv1.CommonRouteSpec
	hostnames []gwv1.Hostname
}

// bind attaches a route to the listeners of each parent it names that is one of our Gateways or a ListenerSet of one. Each reference is
// evaluated by itself.
func (in Inputs) bind(v *store.View, s subject) binding {
	var b binding
	for _, ref := range in.parents(v, s) {
		kind, ok := parentKind(ref)
		if !ok {
			continue
		}
		namespace := s.namespace
		if ref.Namespace != nil {
			namespace = string(*ref.Namespace)
		}
		parent, _ := in.Parents.Get(v, gateway.ParentKey(kind, namespace, string(ref.Name)))
		if !parent.Ours {
			continue
		}
		name := fmt.Sprintf("%s %s", kind, store.Key(namespace, string(ref.Name)))
		attached, conditions := in.bindParent(v, s, ref, name, parent)
		b.attachments = append(b.attachments, attached...)
		b.listeners = append(b.listeners, Resolved{Attachments: attached}.Listeners())
		result := outcome.Parent{Ref: parentRef(ref), Conditions: conditions}
		if len(attached) > 0 {
			result.Gateway, result.Listeners = parent.Gateway, usableIDs(parent, attached)
		}
		b.parents = append(b.parents, result)
	}
	slices.SortStableFunc(b.attachments, compareAttachments)
	b.attachments = slices.CompactFunc(b.attachments, func(x, y Attachment) bool { return compareAttachments(x, y) == 0 })
	return b
}

// parents are the references of a route, and behind them those to default Gateways that it does not have. GEP-3793: a route that uses
// default Gateways is treated as if it named each.
func (in Inputs) parents(v *store.View, s subject) []gwv1.ParentReference {
	refs := s.spec.ParentRefs
	if s.spec.UseDefaultGateways == "" || s.spec.UseDefaultGateways == gwv1.GatewayDefaultScopeNone {
		return refs
	}
	refs = slices.Clone(refs)
	for _, key := range in.Defaults.Keys(v, string(s.spec.UseDefaultGateways)) {
		namespace, name := store.SplitKey(key)
		named := slices.ContainsFunc(s.spec.ParentRefs, func(ref gwv1.ParentReference) bool {
			kind, ok := parentKind(ref)
			home := s.namespace
			if ref.Namespace != nil {
				home = string(*ref.Namespace)
			}
			return ok && kind == store.Gateway && home == namespace && string(ref.Name) == name
		})
		if !named {
			refs = append(refs, gwv1.ParentReference{
				Group: new(gwv1.Group(gwv1.GroupName)), Kind: new(gwv1.Kind(store.Gateway)),
				Namespace: new(gwv1.Namespace(namespace)), Name: gwv1.ObjectName(name),
			})
		}
	}
	return refs
}

// usableIDs are the listeners of a parent that a route attaches to and that can be served.
func usableIDs(parent gateway.Parent, attached []Attachment) []string {
	var ids []string
	for _, l := range parent.Listeners {
		if l.Usable && slices.ContainsFunc(attached, func(a Attachment) bool { return a.Listener == l.ID }) {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

func compareAttachments(a, b Attachment) int {
	return cmp.Or(cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Listener, b.Listener))
}

// parentKind is the kind of parent that a reference names, if it is one that has listeners.
func parentKind(ref gwv1.ParentReference) (store.Kind, bool) {
	if ref.Group != nil && *ref.Group != gwv1.GroupName {
		return "", false
	}
	if ref.Kind == nil {
		return store.Gateway, true
	}
	kind := store.Kind(*ref.Kind)
	return kind, kind == store.Gateway || kind == store.ListenerSet
}

// bindParent tries every listener the reference selects. When none takes the route, those that came closest give the reason.
func (in Inputs) bindParent(
	v *store.View, s subject, ref gwv1.ParentReference, name string, parent gateway.Parent,
) ([]Attachment, []outcome.Condition) {
	if !parent.Accepted {
		return nil, []outcome.Condition{notAttached(gwv1.RouteReasonNoMatchingParent, name+" is not accepted; see its conditions")}
	}
	var (
		attached []Attachment
		takers   []gateway.ParentListener
		closest  miss
		missed   []gateway.ParentListener
	)
	for _, l := range parent.Listeners {
		if !selects(ref, l) {
			continue
		}
		found, reached := in.bindListener(v, s, parent, l)
		switch {
		case reached == missNone:
			attached, takers = append(attached, found), append(takers, l)
		case reached > closest:
			closest, missed = reached, []gateway.ParentListener{l}
		case reached == closest:
			missed = append(missed, l)
		}
	}
	switch {
	case len(attached) > 0:
		return attached, append([]outcome.Condition{{
			Type: string(gwv1.RouteConditionAccepted), State: outcome.True,
			Reason: string(gwv1.RouteReasonAccepted), Message: "the route is attached to " + name,
		}}, unserved(name, takers)...)
	case len(missed) == 0:
		return nil, []outcome.Condition{notAttached(gwv1.RouteReasonNoMatchingParent, nothingSelected(ref, name, parent.Listeners))}
	default:
		return nil, []outcome.Condition{closest.explain(s, name, missed)}
	}
}

// unserved says that none of the listeners that take a route can be served, if that is so.
func unserved(name string, takers []gateway.ParentListener) []outcome.Condition {
	if slices.ContainsFunc(takers, func(l gateway.ParentListener) bool { return l.Usable }) {
		return nil
	}
	var causes []string
	byCause := map[string][]gateway.ParentListener{}
	for _, l := range takers {
		cause := "has no usable certificate; see its condition ResolvedRefs"
		if l.ClosedBy != "" {
			cause = gateway.ClosesConnections(l.ClosedBy) + "; see its conditions"
		}
		if byCause[cause] == nil {
			causes = append(causes, cause)
		}
		byCause[cause] = append(byCause[cause], l)
	}
	for i, cause := range causes {
		which := names(byCause[cause], func(l gateway.ParentListener) string { return l.Name })
		causes[i] = fmt.Sprintf("listener %s of %s %s", which, name, cause)
	}
	return []outcome.Condition{{
		Type: outcome.RouteProgrammed, State: outcome.False, Reason: outcome.ListenerNotProgrammed,
		Message: "no proxy serves the route: " + strings.Join(causes, "; "),
	}}
}

// bindListener checks one listener, and says how far the route came.
func (in Inputs) bindListener(v *store.View, s subject, parent gateway.Parent, l gateway.ParentListener) (Attachment, miss) {
	switch {
	case !l.Accepted:
		return Attachment{}, missAccepted
	case !slices.Contains(l.Kinds, outcome.RouteKind{Group: gwv1.GroupName, Kind: s.kind}):
		return Attachment{}, missKind
	case !l.Namespaces.Admits(v, in.Objects, s.namespace):
		return Attachment{}, missNamespace
	}
	found := hosts(l.Hostname, s.hostnames)
	if len(found) == 0 {
		return Attachment{}, missHostname
	}
	return Attachment{
		Gateway: parent.Gateway, Shared: parent.Shared, Listener: l.ID, Table: l.Table, Passthrough: l.Passthrough, Hosts: found,
		Destination: l.Destination, PolicyBytes: l.PolicyBytes, FilterBytes: l.FilterBytes,
	}, missNone
}

func parentRef(ref gwv1.ParentReference) outcome.ParentRef {
	return outcome.ParentRef{
		Group: (*string)(ref.Group), Kind: (*string)(ref.Kind), Namespace: (*string)(ref.Namespace),
		Name: string(ref.Name), SectionName: (*string)(ref.SectionName), Port: ref.Port,
	}
}
