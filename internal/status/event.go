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

// maxNote is the maximum size of an event's note that the API accepts.
const maxNote = 1024

// event is the content of an event.
type event struct {
	warning bool
	reason  string
	action  string
	note    string
}

// snapshot has the conditions of an object, by the part of it that they describe; the object itself has an empty name.
type snapshot []part

type part struct {
	name       string
	conditions []metav1.Condition
}

// positive are the condition types for which False is a problem, with the action of their events. For all other types that are written
// here, False is the good value.
var positive = map[string]string{
	outcome.RouteProgrammed:                 "Programming",
	string(gwv1.RouteConditionAccepted):     "Accept",
	string(gwv1.RouteConditionResolvedRefs): "ResolveRefs",
	string(gwv1.GatewayConditionProgrammed): "Programming",
}

// starting are the reasons of Programmed that every new object has for a while, or that repeat what Accepted reports.
var starting = []string{
	string(gwv1.GatewayReasonPending), string(gwv1.GatewayReasonAddressNotAssigned), string(gwv1.GatewayReasonNoResources),
	string(gwv1.ListenerReasonInvalid), outcome.NotAttached,
}

// transition returns the event for the change from one snapshot to another, nil for none: each condition that became False, and changes
// of the CRDs that the cluster serves. It compares what was written with what was stored, so a restart or another leader repeats
// nothing.
func transition(before, after snapshot) *event {
	var found *event
	for _, p := range after {
		for _, now := range p.conditions {
			was := before.find(p.name, now.Type)
			if now.Type == string(gwv1.GatewayClassConditionStatusSupportedVersion) {
				if was == nil || was.Status != now.Status || was.Message != now.Message {
					return &event{
						warning: now.Status != metav1.ConditionTrue, reason: now.Reason, action: "CheckDefinitions", note: now.Message,
					}
				}
				continue
			}
			// A route has this condition under two names; only one gets an event.
			twice := now.Type == outcome.RouteProgrammed && meta.FindStatusCondition(p.conditions, outcome.Programmed) != nil
			if twice || !becameFalse(was, now) {
				continue
			}
			text := fmt.Sprintf("%s is False%s: %s", now.Type, p.place(), now.Message)
			if found == nil {
				found = &event{warning: true, reason: now.Reason, action: positive[now.Type], note: text}
			} else {
				found.note += "\n" + text
			}
		}
	}
	return found
}

func (p part) place() string {
	if p.name == "" {
		return ""
	}
	return " at " + p.name
}

// becameFalse reports whether a condition became False, or the NACK that it reports is another one.
func becameFalse(was *metav1.Condition, now metav1.Condition) bool {
	switch {
	case positive[now.Type] == "" || now.Status != metav1.ConditionFalse:
		return false
	case was != nil && was.Status == metav1.ConditionFalse:
		return now.Reason == outcome.Refused && was.Message != now.Message
	case was != nil && was.Status == metav1.ConditionTrue:
		return now.Reason != outcome.NotAttached
	default:
		return positive[now.Type] != positive[outcome.Programmed] || !slices.Contains(starting, now.Reason)
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

// parentName returns the readable name of a parent.
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

// eventDelay is how long an event waits for further changes of the object. CRDs are installed one by one, and many conditions are False
// only for a moment.
const eventDelay = 3 * time.Second

// maxEvents is the maximum number of events in a minute, and maxNamespaceEvents that for one namespace, so that no tenant uses up those
// of others. A failure of thousands of objects needs no event for each.
const (
	maxEvents          = 300
	maxNamespaceEvents = 60
)

// eventRecorder creates events.
type eventRecorder struct {
	client     client.Writer
	controller gwv1.GatewayController
	instance   string
	log        *slog.Logger

	mu sync.Mutex
	// waiting are the objects with a pending event.
	waiting map[item]*change
	// minute is when the present minute began, made the number of events in it, and wanted the number that there would have been, by
	// namespace.
	minute time.Time
	made   int
	wanted map[string]int
}

// change is the change of an object's status since its last event.
type change struct {
	// send creates an event about the last version of the object.
	send          func(*event)
	before, after snapshot
}

// observe records a changed status. Conditions that became False get an event after a delay, unless they are True again by then.
func (r *eventRecorder) observe(ctx context.Context, kind *store.Descriptor, object client.Object, before, after snapshot) {
	if r.client == nil {
		return
	}
	i := item{kind.Kind, client.ObjectKeyFromObject(object).String()}
	// The event outlives the write that caused it.
	ctx = context.WithoutCancel(ctx)
	send := func(a *event) { r.create(ctx, kind, object, a) }
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, waits := r.waiting[i]; waits {
		known.send, known.after = send, after
		return
	}
	if transition(before, after) == nil {
		return
	}
	r.waiting[i] = &change{send: send, before: before, after: after}
	time.AfterFunc(eventDelay, func() { r.release(i) })
}

// flush creates all pending events at once.
func (r *eventRecorder) flush() {
	r.mu.Lock()
	waiting := slices.Collect(maps.Keys(r.waiting))
	r.mu.Unlock()
	for _, i := range waiting {
		r.release(i)
	}
}

func (r *eventRecorder) release(i item) {
	r.mu.Lock()
	known, waits := r.waiting[i]
	delete(r.waiting, i)
	r.mu.Unlock()
	if !waits {
		return
	}
	if a := transition(known.before, known.after); a != nil && r.admit(i.namespace()) {
		known.send(a)
	}
}

// admit reports whether the limits allow another event for an object of a namespace in this minute.
func (r *eventRecorder) admit(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.minute) >= time.Minute {
		r.minute, r.made, r.wanted = now, 0, map[string]int{}
	}
	r.wanted[namespace]++
	const left = "events are left out for the rest of this minute; see the conditions of the objects"
	switch wanted := r.wanted[namespace]; {
	case wanted == maxNamespaceEvents+1:
		r.log.Warn(left, "namespace", namespace, "limit", maxNamespaceEvents)
		return false
	case wanted > maxNamespaceEvents:
		return false
	}
	r.made++
	if r.made == maxEvents+1 {
		r.log.Warn(left, "limit", maxEvents)
	}
	return r.made <= maxEvents
}

// namespace returns the namespace of an object, empty if it has none.
func (i item) namespace() string {
	namespace, _, _ := strings.Cut(i.key, "/")
	return namespace
}

// eventName returns a name for an event about an object, within the limit for names.
func eventName(object string, now time.Time) string {
	suffix := fmt.Sprintf(".%x", now.UnixNano())
	return strings.TrimRight(clip(object, maxName-len(suffix)), ".-") + suffix
}

// maxName is the maximum length of an object's name.
const maxName = 253

// create creates an event. The recorder of client-go treats events of one reason as repetitions of the first and drops their notes,
// which matter here.
func (r *eventRecorder) create(ctx context.Context, kind *store.Descriptor, object client.Object, a *event) {
	now := time.Now()
	// Events of objects without a namespace are in this one.
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	severity := corev1.EventTypeNormal
	if a.warning {
		severity = corev1.EventTypeWarning
	}
	err := r.client.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: eventName(object.GetName(), now)},
		EventTime:  metav1.NewMicroTime(now),
		Regarding: corev1.ObjectReference{
			APIVersion: kind.APIVersion(), Kind: string(kind.Kind), Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
			ResourceVersion: object.GetResourceVersion(),
		},
		ReportingController: string(r.controller),
		ReportingInstance:   clip(r.instance, 128),
		Type:                severity,
		Reason:              a.reason,
		Action:              a.action,
		Note:                clip(a.note, maxNote),
	})
	if err != nil {
		r.log.Error("event not written", "kind", string(kind.Kind), "object", object.GetName(), "error", err)
	}
}
