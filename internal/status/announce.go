package status

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// maxNote is the size beyond which the API refuses an event's note.
const maxNote = 1024

// announcement is what an event says.
type announcement struct {
	warning bool
	reason  string
	action  string
	note    string
}

// snapshot is the conditions of an object, by the part of it that they are about; the object itself has an empty name.
type snapshot []part

type part struct {
	name       string
	conditions []metav1.Condition
}

// good are the conditions whose False is a problem, and what was tried then; all others that are written here are False where there
// is none.
var good = map[string]string{
	outcome.RouteProgrammed:                 "Programming",
	string(gwv1.RouteConditionAccepted):     "Accept",
	string(gwv1.RouteConditionResolvedRefs): "ResolveRefs",
	string(gwv1.GatewayConditionProgrammed): "Programming",
}

// starting are the reasons of Programmed that every new object has for a while, or that repeat what Accepted says.
var starting = []string{
	string(gwv1.GatewayReasonPending), string(gwv1.GatewayReasonAddressNotAssigned), string(gwv1.GatewayReasonNoResources),
	string(gwv1.ListenerReasonInvalid), outcome.NotAttached,
}

// transition is what is to be told about the change from one snapshot to another, nil for nothing: each condition that came to be
// False, and what the cluster has come to serve. What was written is compared with what was stored, so a restart or another leader
// repeats nothing.
func transition(before, after snapshot) *announcement {
	var told *announcement
	for _, p := range after {
		for _, now := range p.conditions {
			was := before.find(p.name, now.Type)
			if now.Type == string(gwv1.GatewayClassConditionStatusSupportedVersion) {
				if was == nil || was.Status != now.Status || was.Message != now.Message {
					return &announcement{
						warning: now.Status != metav1.ConditionTrue, reason: now.Reason, action: "CheckDefinitions", note: now.Message,
					}
				}
				continue
			}
			// A route has this under two names, of which one is told.
			twice := now.Type == outcome.RouteProgrammed && meta.FindStatusCondition(p.conditions, outcome.Programmed) != nil
			if twice || !becameFalse(was, now) {
				continue
			}
			text := fmt.Sprintf("%s is False%s: %s", now.Type, p.place(), now.Message)
			if told == nil {
				told = &announcement{warning: true, reason: now.Reason, action: good[now.Type], note: text}
			} else {
				told.note += "\n" + text
			}
		}
	}
	return told
}

func (p part) place() string {
	if p.name == "" {
		return ""
	}
	return " at " + p.name
}

// becameFalse says whether a condition is False and was not, or what a proxy refuses is another thing than before.
func becameFalse(was *metav1.Condition, now metav1.Condition) bool {
	switch {
	case good[now.Type] == "" || now.Status != metav1.ConditionFalse:
		return false
	case was != nil && was.Status == metav1.ConditionFalse:
		return now.Reason == outcome.Refused && was.Message != now.Message
	case was != nil && was.Status == metav1.ConditionTrue:
		return now.Reason != outcome.NotAttached
	default:
		return good[now.Type] != good[outcome.Programmed] || !slices.Contains(starting, now.Reason)
	}
}

func (s snapshot) find(name, kind string) *metav1.Condition {
	for _, p := range s {
		if p.name == name {
			return meta.FindStatusCondition(p.conditions, kind)
		}
	}
	return nil
}

func classSnapshot(status gwv1.GatewayClassStatus) snapshot { return snapshot{{"", status.Conditions}} }

func gatewaySnapshot(status gwv1.GatewayStatus) snapshot {
	s := snapshot{{"", status.Conditions}}
	for _, l := range status.Listeners {
		s = append(s, part{"listener " + string(l.Name), l.Conditions})
	}
	return s
}

func setSnapshot(status gwv1.ListenerSetStatus) snapshot {
	s := snapshot{{"", status.Conditions}}
	for _, l := range status.Listeners {
		s = append(s, part{"listener " + string(l.Name), l.Conditions})
	}
	return s
}

func routeSnapshot(controller gwv1.GatewayController) func(gwv1.RouteStatus) snapshot {
	return func(status gwv1.RouteStatus) snapshot {
		var s snapshot
		for _, p := range status.Parents {
			if p.ControllerName == controller {
				s = append(s, part{parentName(p.ParentRef), p.Conditions})
			}
		}
		return s
	}
}

func policySnapshot(controller gwv1.GatewayController) func(gwv1.PolicyStatus) snapshot {
	return func(status gwv1.PolicyStatus) snapshot {
		var s snapshot
		for _, a := range status.Ancestors {
			if a.ControllerName == controller {
				s = append(s, part{parentName(a.AncestorRef), a.Conditions})
			}
		}
		return s
	}
}

// parentName is what people call a parent.
func parentName(ref gwv1.ParentReference) string {
	name := string(ref.Name)
	if ref.Namespace != nil {
		name = string(*ref.Namespace) + "/" + name
	}
	name = string(ptr.Deref(ref.Kind, "Gateway")) + " " + name
	if ref.SectionName != nil {
		name += ", listener " + string(*ref.SectionName)
	}
	if ref.Port != nil {
		name += fmt.Sprintf(", port %d", *ref.Port)
	}
	return name
}

// announcePause is how long an event waits for what else becomes of the object: a bundle of definitions is installed one by one,
// and much that is False is True a moment later.
const announcePause = 3 * time.Second

// maxEvents is how many events are made in a minute, and maxNamespaceEvents how many of them are about objects of one namespace, so that no
// tenant takes those of others. Something that makes thousands of objects fail needs no event for each.
const (
	maxEvents          = 300
	maxNamespaceEvents = 60
)

// announcer makes events.
type announcer struct {
	client     client.Writer
	controller gwv1.GatewayController
	instance   string
	log        *slog.Logger

	mu sync.Mutex
	// waiting are the objects whose status has changed, until it is told.
	waiting map[item]*change
	// minute is when the present minute began, made how many events there were in it, and wanted how many would have been by namespace.
	minute time.Time
	made   int
	wanted map[string]int
}

// change is what has become of the status of an object since it was last told.
type change struct {
	// tell makes an event about the object as it was last.
	tell          func(*announcement)
	before, after snapshot
}

// observe takes in that a status has changed. What has come to be False is told in a while, unless it is over by then.
func (n *announcer) observe(ctx context.Context, kind *store.Descriptor, object client.Object, before, after snapshot) {
	if n.client == nil {
		return
	}
	i := item{kind.Kind, client.ObjectKeyFromObject(object).String()}
	// It outlives the write that caused it.
	ctx = context.WithoutCancel(ctx)
	tell := func(a *announcement) { n.make(ctx, kind, object, a) }
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, waits := n.waiting[i]; waits {
		known.tell, known.after = tell, after
		return
	}
	if transition(before, after) == nil {
		return
	}
	n.waiting[i] = &change{tell: tell, before: before, after: after}
	time.AfterFunc(announcePause, func() { n.release(i) })
}

// flush makes at once what still waits.
func (n *announcer) flush() {
	n.mu.Lock()
	waiting := slices.Collect(maps.Keys(n.waiting))
	n.mu.Unlock()
	for _, i := range waiting {
		n.release(i)
	}
}

func (n *announcer) release(i item) {
	n.mu.Lock()
	known, waits := n.waiting[i]
	delete(n.waiting, i)
	n.mu.Unlock()
	if !waits {
		return
	}
	if a := transition(known.before, known.after); a != nil && n.admit(i.namespace()) {
		known.tell(a)
	}
}

// admit says whether there may be another event in this minute about an object of a namespace.
func (n *announcer) admit(namespace string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); now.Sub(n.minute) >= time.Minute {
		n.minute, n.made, n.wanted = now, 0, map[string]int{}
	}
	n.wanted[namespace]++
	const left = "events are left out for the rest of this minute; see the conditions of the objects"
	switch wanted := n.wanted[namespace]; {
	case wanted == maxNamespaceEvents+1:
		n.log.Warn(left, "namespace", namespace, "limit", maxNamespaceEvents)
		return false
	case wanted > maxNamespaceEvents:
		return false
	}
	n.made++
	if n.made == maxEvents+1 {
		n.log.Warn(left, "limit", maxEvents)
	}
	return n.made <= maxEvents
}

// namespace is that of an object, empty if it is in none.
func (i item) namespace() string {
	namespace, _, _ := strings.Cut(i.key, "/")
	return namespace
}

// eventName is a name for an event about an object, which must not be longer than other names.
func eventName(object string, now time.Time) string {
	suffix := fmt.Sprintf(".%x", now.UnixNano())
	return strings.TrimRight(clip(object, maxName-len(suffix)), ".-") + suffix
}

// maxName is how long the name of an object can be.
const maxName = 253

// make writes an event. The usual recorder counts events of one reason as repetitions of the first and drops their notes, and the note is
// the news here.
func (n *announcer) make(ctx context.Context, kind *store.Descriptor, object client.Object, a *announcement) {
	now := time.Now()
	// Objects without a namespace have their events in this one.
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	severity := corev1.EventTypeNormal
	if a.warning {
		severity = corev1.EventTypeWarning
	}
	err := n.client.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: eventName(object.GetName(), now)},
		EventTime:  metav1.NewMicroTime(now),
		Regarding: corev1.ObjectReference{
			APIVersion: kind.APIVersion(), Kind: string(kind.Kind), Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
			ResourceVersion: object.GetResourceVersion(),
		},
		ReportingController: string(n.controller),
		ReportingInstance:   clip(n.instance, 128),
		Type:                severity,
		Reason:              a.reason,
		Action:              a.action,
		Note:                clip(a.note, maxNote),
	})
	if err != nil {
		n.log.Error("event not written", "kind", string(kind.Kind), "object", object.GetName(), "error", err)
	}
}
