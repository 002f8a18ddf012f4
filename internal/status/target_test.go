package status

import (
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// TestWriterWritesEveryKindThatHasAStatus writes a status of each kind, and finds it on the object.
func TestWriterWritesEveryKindThatHasAStatus(t *testing.T) {
	t.Parallel()
	conditions := []outcome.Condition{wanted("Accepted", outcome.True)}
	parents := []outcome.Parent{{Ref: outcome.ParentRef{Name: "gw"}, Conditions: conditions}}
	for _, kind := range store.Kinds {
		if kind.Status == nil {
			continue
		}
		t.Run(string(kind.Kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				object := kind.New()
				object.SetName("x")
				if !kind.ClusterScoped {
					object.SetNamespace("default")
				}
				key := store.KeyOf(object)
				b := newBench(t, object)
				switch kind.Kind {
				case store.GatewayClass:
					b.SetClass(key, outcome.Class{Conditions: conditions})
				case store.Gateway:
					b.SetGateway(key, outcome.Gateway{Conditions: conditions})
				case store.ListenerSet:
					b.SetListenerSet(key, outcome.ListenerSet{Conditions: conditions})
				default:
					if _, isRoute := b.targets.routes[kind.Kind]; isRoute {
						b.SetRoute(kind.Kind, key, outcome.Route{Parents: parents})
					} else {
						b.SetPolicy(kind.Kind, key, outcome.Policy{Ancestors: parents, Conditions: conditions})
					}
				}
				b.start(t)
				b.wrote(t, 1)
				if b.log.Len() > 0 {
					t.Errorf("log: %s", b.log.String())
				}
				before := object.GetResourceVersion()
				if err := b.cluster.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil || object.GetResourceVersion() == before {
					t.Errorf("the object was not written: %v", err)
				}
			})
		})
	}
}

func TestAStatusThatCannotBeWrittenPanics(t *testing.T) {
	t.Parallel()
	kind := *store.Kinds[0]
	kind.Status = func(store.Object) any { return &corev1.ServiceStatus{} }
	defer func() {
		if recover() == nil {
			t.Error("there was no panic")
		}
	}()
	targetsOf([]*store.Descriptor{&kind}, ours)
}

func TestANewLeaderWritesFirstWhatManyWaitFor(t *testing.T) {
	t.Parallel()
	items := []item{
		{store.XTelemetryPolicy, "a/t"},
		{store.HTTPRoute, "b/r"},
		{store.HTTPRoute, "a/r"},
		{store.Gateway, "z/g"},
		{store.GatewayClass, "c"},
		{store.BackendTLSPolicy, "a/p"},
		{store.ListenerSet, "a/s"},
		{store.UDPRoute, "a/u"},
		{store.XBackend, "a/x"},
	}
	want := []item{
		{store.GatewayClass, "c"},
		{store.Gateway, "z/g"},
		{store.ListenerSet, "a/s"},
		{store.HTTPRoute, "a/r"},
		{store.HTTPRoute, "b/r"},
		{store.UDPRoute, "a/u"},
		{store.BackendTLSPolicy, "a/p"},
		{store.XBackend, "a/x"},
		{store.XTelemetryPolicy, "a/t"},
	}
	if got := slices.SortedFunc(slices.Values(items), byPriority); !slices.Equal(got, want) {
		t.Errorf("order: %v", got)
	}
}
