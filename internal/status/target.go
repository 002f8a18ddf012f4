package status

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// errStale says that the cache has not yet seen our own last write, so that nothing can be told from it.
var errStale = errors.New("the cache is older than our last write")

// target is how the writer reaches the status of one kind: where it is kept, and how an outcome becomes one.
type target[T any, P object[T], S, O any] struct {
	status func(P) *S
	merge  func(existing S, o O, now metav1.Time) S
	// kind and conditions are for events about what has changed.
	kind       store.Kind
	conditions func(S) snapshot
}

type object[T any] interface {
	*T
	client.Object
	DeepCopy() *T
}

var (
	classTarget = target[gwv1.GatewayClass, *gwv1.GatewayClass, gwv1.GatewayClassStatus, outcome.Class]{
		status: func(c *gwv1.GatewayClass) *gwv1.GatewayClassStatus { return &c.Status },
		merge:  Class,

		kind:       store.GatewayClass,
		conditions: classSnapshot,
	}
	gatewayTarget = target[gwv1.Gateway, *gwv1.Gateway, gwv1.GatewayStatus, outcome.Gateway]{
		status: func(g *gwv1.Gateway) *gwv1.GatewayStatus { return &g.Status },
		merge:  Gateway,

		kind:       store.Gateway,
		conditions: gatewaySnapshot,
	}
	listenerSetTarget = target[gwv1.ListenerSet, *gwv1.ListenerSet, gwv1.ListenerSetStatus, outcome.ListenerSet]{
		status: func(s *gwv1.ListenerSet) *gwv1.ListenerSetStatus { return &s.Status },
		merge:  ListenerSet,

		kind:       store.ListenerSet,
		conditions: setSnapshot,
	}
)

// routeWriter writes the status of one kind of route.
type routeWriter func(ctx context.Context, w *Writer, key string, o outcome.Route, last string) (string, error)

func routeWriters(controller gwv1.GatewayController) map[store.Kind]routeWriter {
	return map[store.Kind]routeWriter{
		store.HTTPRoute: routeTarget(store.HTTPRoute, controller, func(r *gwv1.HTTPRoute) *gwv1.RouteStatus { return &r.Status.RouteStatus }),
		store.GRPCRoute: routeTarget(store.GRPCRoute, controller, func(r *gwv1.GRPCRoute) *gwv1.RouteStatus { return &r.Status.RouteStatus }),
		store.TLSRoute:  routeTarget(store.TLSRoute, controller, func(r *gwv1.TLSRoute) *gwv1.RouteStatus { return &r.Status.RouteStatus }),
		store.TCPRoute:  routeTarget(store.TCPRoute, controller, func(r *gwv1.TCPRoute) *gwv1.RouteStatus { return &r.Status.RouteStatus }),
		store.UDPRoute:  routeTarget(store.UDPRoute, controller, func(r *gwv1.UDPRoute) *gwv1.RouteStatus { return &r.Status.RouteStatus }),
	}
}

func routeTarget[T any, P object[T]](kind store.Kind, controller gwv1.GatewayController, status func(P) *gwv1.RouteStatus) routeWriter {
	return target[T, P, gwv1.RouteStatus, outcome.Route]{
		status: status, merge: mergeRoute(controller), kind: kind, conditions: routeSnapshot(controller),
	}.write
}

func mergeRoute(controller gwv1.GatewayController) func(gwv1.RouteStatus, outcome.Route, metav1.Time) gwv1.RouteStatus {
	return func(existing gwv1.RouteStatus, o outcome.Route, now metav1.Time) gwv1.RouteStatus {
		return Route(existing, o, controller, now)
	}
}

// write sends the difference between the cached status and the outcome, if there is one, and returns the resource version that made;
// it is empty when nothing had to be sent. The cached object must be at least as new as the version of our last write.
//
// The patch carries the resource version it was computed from, so a status that others changed meanwhile is never overwritten, and
// as a merge patch it leaves fields alone that this build does not know.
func (t target[T, P, S, O]) write(ctx context.Context, w *Writer, key string, o O, last string) (string, error) {
	var cached T
	if err := w.reader.Get(ctx, objectKey(key), P(&cached)); err != nil {
		return "", err
	}
	if older(P(&cached).GetResourceVersion(), last) {
		return "", errStale
	}
	existing := *t.status(&cached)
	merged := t.merge(existing, o, w.now())
	if equality.Semantic.DeepEqual(existing, merged) {
		return "", nil
	}
	// The reply is decoded into what is sent, so that must share nothing with the cache or the outcome.
	sent := cached
	*t.status(&sent) = merged
	changed := P(P(&sent).DeepCopy())
	err := w.client.Status().Patch(ctx, changed, client.MergeFromWithOptions(P(&cached), client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return "", err
	}
	w.events.observe(ctx, t.kind, changed, t.conditions(existing), t.conditions(merged))
	return changed.GetResourceVersion(), nil
}

// older compares resource versions of one object; versions that can not be compared are not older.
func older(version, last string) bool {
	if last == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, last)
	return err == nil && order < 0
}

func objectKey(key string) client.ObjectKey {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return client.ObjectKey{Name: key}
	}
	return client.ObjectKey{Namespace: namespace, Name: name}
}
