package status

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
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

// announceClass tells about a GatewayClass whose cluster has come to serve other definitions than before. What was written is compared with
// what was stored, so a restart or another leader repeats nothing.
func announceClass(before, after gwv1.GatewayClassStatus) *announcement {
	const supported = string(gwv1.GatewayClassConditionStatusSupportedVersion)
	now := meta.FindStatusCondition(after.Conditions, supported)
	was := meta.FindStatusCondition(before.Conditions, supported)
	if now == nil || was != nil && was.Status == now.Status && was.Message == now.Message {
		return nil
	}
	return &announcement{warning: now.Status != metav1.ConditionTrue, reason: now.Reason, action: "CheckDefinitions", note: now.Message}
}

// announceRoute tells about a route that a proxy has come to refuse.
func announceRoute(controller gwv1.GatewayController) func(before, after gwv1.RouteStatus) *announcement {
	refusal := func(status gwv1.RouteStatus) string {
		for _, parent := range status.Parents {
			condition := meta.FindStatusCondition(parent.Conditions, outcome.RouteProgrammed)
			if parent.ControllerName == controller && condition != nil && condition.Reason == outcome.Refused {
				return condition.Message
			}
		}
		return ""
	}
	return func(before, after gwv1.RouteStatus) *announcement {
		now := refusal(after)
		if now == "" || now == refusal(before) {
			return nil
		}
		return &announcement{warning: true, reason: outcome.Refused, action: "Programming", note: now}
	}
}

// announcePause is how long an event waits for a newer one about the same object: a bundle of definitions is installed one by one.
const announcePause = 3 * time.Second

// announcer makes events.
type announcer struct {
	client     client.Writer
	controller gwv1.GatewayController
	instance   string
	log        *slog.Logger

	mu sync.Mutex
	// waiting makes the newest announcement about each object, once.
	waiting map[item]func()
}

// announce makes an event, unless a newer one about the object comes soon.
func (n *announcer) announce(ctx context.Context, kind Kind, object client.Object, a *announcement) {
	if n.client == nil || a == nil {
		return
	}
	i := item{kind, client.ObjectKeyFromObject(object).String()}
	ctx = context.WithoutCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, planned := n.waiting[i]; !planned {
		time.AfterFunc(announcePause, func() { n.release(i) })
	}
	n.waiting[i] = func() { n.make(ctx, kind, object, a) }
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
	announce, waits := n.waiting[i]
	delete(n.waiting, i)
	n.mu.Unlock()
	if waits {
		announce()
	}
}

// make writes an event. The usual recorder counts events of one reason as repetitions of the first and drops their notes, and the note is
// the news here.
func (n *announcer) make(ctx context.Context, kind Kind, object client.Object, a *announcement) {
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
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%x", object.GetName(), now.UnixNano())},
		EventTime:  metav1.NewMicroTime(now),
		Regarding: corev1.ObjectReference{
			APIVersion: gwv1.GroupVersion.String(), Kind: string(kind), Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
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
		n.log.Error("event not written", "kind", string(kind), "object", object.GetName(), "error", err)
	}
}
