package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

func TestAnEventReportsWhatDefinitionsTheClusterHasWhenThatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u"}})
		b.start(t)
		var reported []string
		say := func(state outcome.State, reason, message string) {
			b.SetClass(
				"c", outcome.Class{Conditions: []outcome.Condition{{Type: "SupportedVersion", State: state, Reason: reason, Message: message}}},
			)
			settle()
		}
		say(outcome.True, "SupportedVersion", "all there")
		b.SetClass("c", outcome.Class{Conditions: []outcome.Condition{{Type: "SupportedVersion", State: outcome.False, Message: "in between"}}})
		<-time.After(time.Second)
		say(outcome.False, "UnsupportedVersion", "GRPCRoute is missing")
		b.SetClass("c", outcome.Class{Conditions: []outcome.Condition{
			{Type: "SupportedVersion", State: outcome.False, Reason: "UnsupportedVersion", Message: strings.Repeat("é", 1000)},
		}})
		<-time.After(time.Second)
		b.stop()   // before the pause is over
		b.start(t) // a new leader repeats nothing

		var events eventsv1.EventList
		if err := b.cluster.List(t.Context(), &events, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(events.Items, func(x, y eventsv1.Event) int { return x.EventTime.Compare(y.EventTime.Time) })
		for i := range events.Items {
			e := &events.Items[i]
			reported = append(
				reported,
				strings.Join([]string{e.Type, e.Reason, e.Regarding.Kind, e.Regarding.Name, string(e.Regarding.UID), e.ReportingInstance, e.Note}, " "),
			)
		}
		want := []string{
			"Normal SupportedVersion GatewayClass c u pod-1 all there",
			"Warning UnsupportedVersion GatewayClass c u pod-1 GRPCRoute is missing",
			"Warning UnsupportedVersion GatewayClass c u pod-1 " + strings.Repeat("é", 512),
		}
		if diff := cmp.Diff(want, reported); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestAnEventReportsWhatBecomesFalse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRoute())
		b.start(t)
		say := func(pause time.Duration, conditions ...outcome.Condition) {
			b.SetRoute(
				store.HTTPRoute, "default/r",
				outcome.Route{Generation: 1, Parents: []outcome.Parent{{Ref: outcome.ParentRef{Name: "web"}, Conditions: conditions}}},
			)
			<-time.After(pause)
		}
		accepted := outcome.Condition{Type: "Accepted", State: outcome.True, Reason: "Accepted", Message: "fine"}
		resolved := outcome.Condition{Type: "ResolvedRefs", State: outcome.True, Reason: "ResolvedRefs", Message: "fine"}
		programmed := outcome.Condition{Type: outcome.RouteProgrammed, State: outcome.True, Reason: "Programmed", Message: "fine"}
		lost := func(c outcome.Condition, reason, message string) outcome.Condition {
			c.State, c.Reason, c.Message = outcome.False, reason, message
			return c
		}
		say(time.Minute, accepted, resolved, programmed)
		say(time.Second, lost(accepted, "NoMatchingParent", "over at once"), resolved, lost(programmed, "NotAttached", "see Accepted"))
		say(time.Minute, accepted, resolved, programmed)
		say(time.Second, lost(accepted, "NoMatchingParent", "no listener"), resolved, lost(programmed, "NotAttached", "see Accepted"))
		say(
			time.Minute, lost(accepted, "NoMatchingParent", "no listener"), lost(resolved, "BackendNotFound", "no Service"),
			lost(programmed, "NotAttached", "see Accepted"),
		)
		say(
			time.Minute, lost(accepted, "NoMatchingParent", "no listener at all"), lost(resolved, "BackendNotFound", "none"),
			lost(programmed, "NotAttached", "see Accepted"),
		)
		say(time.Minute, accepted, resolved, lost(programmed, outcome.Refused, "too large"))
		say(time.Minute, accepted, resolved, lost(programmed, outcome.Refused, "still too large"))

		var events eventsv1.EventList
		if err := b.cluster.List(t.Context(), &events, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(events.Items, func(x, y eventsv1.Event) int { return x.EventTime.Compare(y.EventTime.Time) })
		var reported []string
		for i := range events.Items {
			e := &events.Items[i]
			reported = append(reported, strings.Join([]string{e.Type, e.Reason, e.Action, e.Note}, " "))
		}
		want := []string{
			"Warning NoMatchingParent Accept Accepted is False at Gateway web: no listener\nResolvedRefs is False at Gateway web: no Service",
			"Warning Refused Programming Programmed is False at Gateway web: too large",
			"Warning Refused Programming Programmed is False at Gateway web: still too large",
		}
		if diff := cmp.Diff(want, reported); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestEventsOfAMinuteAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newBench(t).events
		made := map[string]int{}
		for range 2 * maxEvents {
			if n.admit("greedy") {
				made["greedy"]++
			}
		}
		for i := range maxEvents {
			if n.admit(fmt.Sprintf("modest-%d", i)) {
				made["modest"]++
			}
		}
		if made["greedy"] != maxNamespaceEvents || made["modest"] != maxEvents-maxNamespaceEvents {
			t.Errorf("%v events, want %d of the first and %d together", made, maxNamespaceEvents, maxEvents)
		}
		<-time.After(time.Minute)
		if !n.admit("greedy") || !n.admit("") {
			t.Error("no event in the next minute")
		}
	})
}

func TestNamesOfEventsAreShortEnough(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, name := range []string{"a", strings.Repeat("a", 253), strings.Repeat("a.", 126) + "a", strings.Repeat("a-", 126) + "a"} {
		if got := eventName(name, now); len(validation.IsDNS1123Subdomain(got)) > 0 || !strings.HasPrefix(got, name[:1]) {
			t.Errorf("%q is no name", got)
		}
	}
	if of := (item{store.HTTPRoute, "a/b"}).namespace() + (item{store.GatewayClass, "/c"}).namespace(); of != "a" {
		t.Errorf("the namespaces are %q", of)
	}
}
