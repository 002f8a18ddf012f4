package gateway

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Set is what became of a ListenerSet that names the Gateway as its parent.
type Set struct {
	// Key is `namespace/name`.
	Key string
	// Accepted is the ListenerSet's own condition, before anything is known about the fleet.
	Accepted outcome.Condition
}

// holder is an object that holds listeners of a Gateway: the Gateway itself, or a ListenerSet.
type holder struct {
	kind store.Kind
	name ir.Name
}

// set is the key of the ListenerSet, or empty for the Gateway.
func (h holder) set() string {
	if h.kind != store.ListenerSet {
		return ""
	}
	return h.name.String()
}

// entry is one listener of the list that a Gateway and its ListenerSets make together.
type entry struct {
	holder holder
	spec   *gwv1.Listener
	// unreadable says why only the name, the hostname, the port and the protocol are known.
	unreadable string
	// beyond says why the Gateway has no room for it, so that it only keeps its hostname.
	beyond string
	// unsupported says what about it is not served.
	unsupported *refs.Problem
}

func (e entry) id() string {
	if e.holder.kind == store.Gateway {
		return string(e.spec.Name)
	}
	return e.holder.name.String() + "/" + string(e.spec.Name)
}

// nameFor describes the listener to a reader of the conditions of another. GEP-1713 asks for care about what one ListenerSet learns of
// its siblings, so those of other namespaces stay nameless.
func (e entry) nameFor(other entry) string {
	switch {
	case e.holder == other.holder:
		return fmt.Sprintf("listener %s", e.spec.Name)
	case e.holder.kind == store.Gateway || e.holder.name.Namespace == other.holder.name.Namespace:
		return fmt.Sprintf("listener %s of %s %s", e.spec.Name, e.holder.kind, e.holder.name)
	default:
		return "a listener of a ListenerSet that comes before this one"
	}
}

// ownEntries are the Gateway's own listeners.
func ownEntries(gw *gwv1.Gateway) []entry {
	h := holder{kind: store.Gateway, name: ir.Name{Namespace: gw.Namespace, Name: gw.Name}}
	entries := make([]entry, 0, len(gw.Spec.Listeners))
	for i := range gw.Spec.Listeners {
		entries = append(entries, entry{holder: h, spec: &gw.Spec.Listeners[i]})
	}
	return entries
}

// setEntries are the listeners of a ListenerSet. beyond says why there is no room for them, empty if there is.
func setEntries(set *gwv1.ListenerSet, beyond string) []entry {
	h := holder{kind: store.ListenerSet, name: ir.Name{Namespace: set.Namespace, Name: set.Name}}
	entries := make([]entry, 0, len(set.Spec.Listeners))
	for i := range set.Spec.Listeners {
		spec := gwv1.Listener(set.Spec.Listeners[i])
		entries = append(entries, entry{holder: h, spec: &spec, unreadable: store.Unreadable(set), beyond: beyond})
	}
	return entries
}

// attachedSets lists the ListenerSets that name the Gateway, in order of precedence. GEP-1713: the oldest first, then by name.
func attachedSets(v *store.View, objects *store.Objects, key string) []*gwv1.ListenerSet {
	var sets []*gwv1.ListenerSet
	for _, key := range objects.ListenerSetsByGateway.Keys(v, key) {
		if set, ok := objects.ListenerSets.Get(v, key); ok {
			sets = append(sets, set)
		}
	}
	slices.SortStableFunc(sets, func(a, b *gwv1.ListenerSet) int {
		return cmp.Or(
			cmp.Compare(a.CreationTimestamp.Unix(), b.CreationTimestamp.Unix()),
			cmp.Compare(store.KeyOf(a), store.KeyOf(b)),
		)
	})
	return sets
}

// allowedSets reads which ListenerSets a Gateway takes.
func allowedSets(gw *gwv1.Gateway) (NamespaceRule, string) {
	var selector *metav1.LabelSelector
	if allowed := gw.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil {
		selector = allowed.Namespaces.Selector
	}
	return namespaceRule(gw.Namespace, allowedFrom(gw), selector)
}

// allowedFrom is where these are. The standard: nowhere unless the Gateway says so.
func allowedFrom(gw *gwv1.Gateway) gwv1.FromNamespaces {
	allowed := gw.Spec.AllowedListeners
	if allowed == nil || allowed.Namespaces == nil || allowed.Namespaces.From == nil {
		return gwv1.NamespacesFromNone
	}
	return *allowed.Namespaces.From
}

// notAllowed says why a Gateway does not take a ListenerSet, if it does not.
func notAllowed(v *store.View, objects *store.Objects, gw *gwv1.Gateway, set *gwv1.ListenerSet) string {
	rule, message := allowedSets(gw)
	switch {
	case message != "":
		return fmt.Sprintf("allowedListeners.%s in Gateway %s", message, store.KeyOf(gw))
	case !rule.Admits(v, objects, set.Namespace):
		return fmt.Sprintf("Gateway %s takes no ListenerSet from namespace %s; see its allowedListeners.namespaces", store.KeyOf(gw),
			set.Namespace)
	default:
		return ""
	}
}

// mergeSets puts the listeners of the ListenerSets that a Gateway takes behind its own. Of those it does not take, the outcome is final.
func mergeSets(v *store.View, objects *store.Objects, gw *gwv1.Gateway) ([]entry, []Set) {
	entries := ownEntries(gw)
	var sets []Set
	var allowed []*gwv1.ListenerSet
	places := map[*gwv1.ListenerSet]int{}
	for _, set := range attachedSets(v, objects, store.KeyOf(gw)) {
		outcome := Set{Key: store.KeyOf(set)}
		if message := notAllowed(v, objects, gw, set); message != "" {
			outcome.Accepted = setRefused(gwv1.ListenerSetReasonNotAllowed, message)
		} else {
			allowed, places[set] = append(allowed, set), len(sets)
		}
		sets = append(sets, outcome)
	}
	room := newListenerRoom(objects.Limits, len(entries), allowed)
	for _, set := range allowed {
		place, message := room.of(set)
		if place != limits.Served {
			sets[places[set]].Accepted = setRefused(gwv1.ListenerSetReasonNotAllowed, message)
		}
		if place != limits.LeftOut {
			entries = append(entries, setEntries(set, message)...)
		}
	}
	return entries, sets
}

// evaluateSets sets the condition Accepted of each ListenerSet that has none yet, and opens the listeners of what is accepted.
func (r *Resolved) evaluateSets() {
	bySet := map[string][]Listener{}
	for _, l := range r.Listeners {
		bySet[l.Set] = append(bySet[l.Set], l)
	}
	accepted := map[string]bool{"": r.Accepted.State == outcome.True}
	for i := range r.Sets {
		set := &r.Sets[i]
		if set.Accepted.State == "" {
			set.Accepted = evaluateSet(r.Accepted, bySet[set.Key])
		}
		accepted[set.Key] = set.Accepted.State == outcome.True
	}
	for i := range r.Listeners {
		l := &r.Listeners[i]
		l.Attachable = l.Accepted && accepted[l.Set]
	}
}

// accepted is the condition Accepted of a ListenerSet, or with an empty key on the Gateway itself.
func (r Resolved) accepted(set string) bool {
	if set == "" {
		return r.listenersValid
	}
	i := slices.IndexFunc(r.Sets, func(s Set) bool { return s.Key == set })
	return i >= 0 && r.Sets[i].Accepted.State == outcome.True
}

// evaluateSet evaluates an allowed ListenerSet by its listeners. Like a Gateway it needs one that can be served.
func evaluateSet(gateway outcome.Condition, listeners []Listener) outcome.Condition {
	usable := slices.ContainsFunc(listeners, Listener.Usable)
	switch message := leftOut(listeners); {
	case gateway.State != outcome.True:
		return setRefused(gwv1.ListenerSetReasonParentNotAccepted, "the Gateway is not accepted: "+gateway.Message)
	case message == "" && usable:
		return setAccepted(gwv1.ListenerSetReasonAccepted, "all listeners are valid")
	case usable:
		return setAccepted(gwv1.ListenerSetReasonListenersNotValid, message)
	default:
		return setRefused(gwv1.ListenerSetReasonListenersNotValid, message)
	}
}

func setAccepted(reason gwv1.ListenerSetConditionReason, message string) outcome.Condition {
	return outcome.Condition{Type: string(gwv1.ListenerSetConditionAccepted), State: outcome.True, Reason: string(reason), Message: message}
}

func setRefused(reason gwv1.ListenerSetConditionReason, message string) outcome.Condition {
	return outcome.Condition{Type: string(gwv1.ListenerSetConditionAccepted), State: outcome.False, Reason: string(reason), Message: message}
}

// gatewayOfSet is the key of the Gateway that a ListenerSet names, or empty.
func gatewayOfSet(v *store.View, objects *store.Objects, key string) string {
	set, ok := objects.ListenerSets.Get(v, key)
	if !ok {
		return ""
	}
	gateway, _ := store.ParentGateway(set)
	return gateway
}
