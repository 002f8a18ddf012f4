package status

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

func TestReleased(t *testing.T) {
	t.Parallel()
	ours := func(generation int64) gwv1.GatewayStatus {
		return gwv1.GatewayStatus{
			Conditions: []metav1.Condition{
				{Type: "Accepted", Status: metav1.ConditionTrue, ObservedGeneration: generation},
				{Type: "example.com/Theirs", ObservedGeneration: 9},
				{Type: "Programmed", Status: metav1.ConditionTrue, ObservedGeneration: generation},
			},
			Addresses: []gwv1.GatewayStatusAddress{{Value: "198.18.200.1"}},
			Listeners: []gwv1.ListenerStatus{{Name: "http"}},
		}
	}
	for _, c := range []struct {
		name       string
		generation int64
		want       gwv1.GatewayStatus
	}{
		{"what was said before is withdrawn, what others said stays", 5, gwv1.GatewayStatus{
			Conditions: []metav1.Condition{{Type: "example.com/Theirs", ObservedGeneration: 9}},
		}},
		{"what its new controller said is its own", 4, ours(4)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Released(ours(4), c.generation)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
			if diff := cmp.Diff(got, Released(got, c.generation)); diff != "" {
				t.Errorf("a second time it is another\n%s", diff)
			}
		})
	}
}

func TestWriterReleasesAGatewayOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gateway := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", Generation: 1}}
		b := newBench(t, gateway)
		b.ReleaseGateway("default/g", 2)
		b.start(t)
		b.wrote(t, 0)

		b.SetGateway("default/g", outcome.Gateway{Generation: 1, Conditions: []outcome.Condition{wanted("Programmed", outcome.True)}})
		settle()
		b.wrote(t, 1)
		b.ReleaseGateway("default/g", 2)
		settle()
		b.wrote(t, 2)
		if err := b.cluster.Get(t.Context(), client.ObjectKeyFromObject(gateway), gateway); err != nil || len(gateway.Status.Conditions) != 0 {
			t.Errorf("left are %v, %v", gateway.Status.Conditions, err)
		}
		b.ReleaseGateway("default/g", 2)
		settle()
		b.wrote(t, 2)
		if b.log.Len() > 0 {
			t.Errorf("log: %s", b.log.String())
		}
	})
}
