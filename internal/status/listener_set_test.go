package status

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

func TestListenerSet(t *testing.T) {
	t.Parallel()
	foreign := stored("example.com/Checked", metav1.ConditionTrue, 1)
	existing := gwv1.ListenerSetStatus{
		Conditions: []metav1.Condition{foreign, stored("Accepted", metav1.ConditionUnknown, 0)},
		Listeners: []gwv1.ListenerEntryStatus{
			{Name: "gone", Conditions: []metav1.Condition{foreign}},
			{Name: "web", AttachedRoutes: 1, Conditions: []metav1.Condition{foreign, stored("Accepted", metav1.ConditionTrue, 1)}},
		},
	}
	o := outcome.ListenerSet{
		Generation: 2,
		Conditions: []outcome.Condition{wanted("Accepted", outcome.True)},
		Listeners: []outcome.Listener{{
			Name: "web", AttachedRoutes: 7, Conditions: []outcome.Condition{wanted("Accepted", outcome.True)},
			SupportedKinds: []outcome.RouteKind{{Group: gwv1.GroupName, Kind: "HTTPRoute"}},
		}},
	}
	got := ListenerSet(existing, o, late)

	want := gwv1.ListenerSetStatus{
		Conditions: []metav1.Condition{
			foreign,
			{Type: "Accepted", Status: "True", Reason: "Accepted", ObservedGeneration: 2, LastTransitionTime: late},
		},
		Listeners: []gwv1.ListenerEntryStatus{{
			Name: "web", AttachedRoutes: 7,
			SupportedKinds: []gwv1.RouteGroupKind{{Group: new(gwv1.Group(gwv1.GroupName)), Kind: "HTTPRoute"}},
			Conditions: []metav1.Condition{
				foreign,
				{Type: "Accepted", Status: "True", Reason: "Accepted", ObservedGeneration: 2, LastTransitionTime: early},
			},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if again := ListenerSet(got, o, late); !equality.Semantic.DeepEqual(got, again) {
		t.Errorf("the same outcome again gives another status:\n%s", cmp.Diff(got, again))
	}
}

func TestListenerSetStaysWithinTheLimitOfTheAPI(t *testing.T) {
	t.Parallel()
	var o outcome.ListenerSet
	for i := range 2 * maxListeners {
		o.Listeners = append(o.Listeners, outcome.Listener{Name: fmt.Sprint(i)})
	}
	if got := ListenerSet(gwv1.ListenerSetStatus{}, o, late); len(got.Listeners) != maxListeners {
		t.Errorf("got %d listeners, the API takes %d", len(got.Listeners), maxListeners)
	}
}

func TestWriterWithdrawsAListenerSetItSpokeOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		known, foreign := newSet("known"), newSet("foreign")
		b := newBench(t, known, foreign)
		b.start(t)
		b.SetListenerSet("default/known", outcome.ListenerSet{
			Generation: 1, Conditions: []outcome.Condition{wanted("Accepted", outcome.True)}, Listeners: []outcome.Listener{{Name: "web"}},
		})
		settle()
		gone := outcome.ListenerSet{Generation: 1, Conditions: []outcome.Condition{wanted("Accepted", outcome.Unknown)}}
		b.WithdrawListenerSet("default/known", gone)
		b.WithdrawListenerSet("default/foreign", gone)
		settle()
		b.wrote(t, 2)
		b.Observed(store.ListenerSet, "default/known")
		settle()
		b.wrote(t, 2)
		if err := b.cluster.Get(t.Context(), client.ObjectKeyFromObject(known), known); err != nil {
			t.Fatal(err)
		}
		if got := known.Status; len(got.Listeners) != 0 || got.Conditions[0].Status != metav1.ConditionUnknown {
			t.Errorf("got %+v, want an unknown condition and no listeners", got)
		}
	})
}

func newSet(name string) *gwv1.ListenerSet {
	return &gwv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Generation: 1}}
}
