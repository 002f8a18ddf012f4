package status

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	inferencexv1alpha1 "sigs.k8s.io/gateway-api-inference-extension/apix/v1alpha1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// errStale reports that the cache does not have our own last write yet, so nothing can be derived from it.
var errStale = errors.New("the cache is older than our last write")

// target writes the status of one kind: S is the type of the status, O that of the outcome.
type target[S, O any] struct {
	kind  *store.Descriptor
	merge func(existing S, o O, now metav1.Time) S
	// conditions returns the snapshot for events.
	conditions func(S) snapshot
}

// write converts an outcome to the status of an object, and stores it; see [target.write].
type write[O any] func(ctx context.Context, w *Writer, key string, o O, last string) (string, error)

// targets has the target of each kind with a status.
type targets struct {
	class       write[outcome.Class]
	gateway     write[outcome.Gateway]
	release     write[int64]
	listenerSet write[outcome.ListenerSet]
	routes      map[store.Kind]write[outcome.Route]
	policies    map[store.Kind]write[outcome.Policy]
}

// targetsOf chooses the targets by the type of the status. It panics for a kind without one.
func targetsOf(kinds []*store.Descriptor, controller gwv1.GatewayController) targets {
	all := targets{routes: map[store.Kind]write[outcome.Route]{}, policies: map[store.Kind]write[outcome.Policy]{}}
	for _, kind := range kinds {
		if kind.Status == nil {
			continue
		}
		switch status := kind.Status(kind.Object).(type) {
		case *gwv1.GatewayClassStatus:
			all.class = target[gwv1.GatewayClassStatus, outcome.Class]{kind, Class, classSnapshot}.write
		case *gwv1.GatewayStatus:
			all.gateway = target[gwv1.GatewayStatus, outcome.Gateway]{kind, Gateway, gatewaySnapshot}.write
			all.release = target[gwv1.GatewayStatus, int64]{kind, release, gatewaySnapshot}.write
		case *gwv1.ListenerSetStatus:
			all.listenerSet = target[gwv1.ListenerSetStatus, outcome.ListenerSet]{kind, ListenerSet, setSnapshot}.write
		case *gwv1.RouteStatus:
			all.routes[kind.Kind] = target[gwv1.RouteStatus, outcome.Route]{kind, by(controller, Route), routeSnapshot(controller)}.write
		case *gwv1.PolicyStatus:
			all.policies[kind.Kind] = target[gwv1.PolicyStatus, outcome.Policy]{kind, by(controller, Policy), policySnapshot(controller)}.write
		case *v1alpha1.PolicyStatus:
			all.policies[kind.Kind] = target[v1alpha1.PolicyStatus, outcome.Policy]{
				kind, by(controller, OwnPolicy), ownPolicySnapshot(controller),
			}.write
		case *v1alpha1.BackendStatus:
			all.policies[kind.Kind] = target[v1alpha1.BackendStatus, outcome.Policy]{kind, Backend, ownBackendSnapshot}.write
		case *gwxv1alpha1.BackendStatus:
			all.policies[kind.Kind] = target[gwxv1alpha1.BackendStatus, outcome.Policy]{
				kind, by(controller, XBackend), backendSnapshot(controller),
			}.write
		case *inferencev1.InferencePoolStatus:
			all.policies[kind.Kind] = target[inferencev1.InferencePoolStatus, outcome.Policy]{
				kind, by(controller, InferencePool), poolSnapshot(controller),
			}.write
		case *inferencexv1alpha1.InferencePoolImportStatus:
			all.policies[kind.Kind] = target[inferencexv1alpha1.InferencePoolImportStatus, outcome.Policy]{
				kind, by(controller, InferencePoolImport), importSnapshot(controller),
			}.write
		default:
			panic(fmt.Sprintf("%s has a status of type %T, and there is no way to write that", kind.Kind, status))
		}
	}
	return all
}

// by merges into a status that a controller shares with others.
func by[S, O any](controller gwv1.GatewayController, merge func(S, O, gwv1.GatewayController, metav1.Time) S) func(S, O, metav1.Time) S {
	return func(existing S, o O, now metav1.Time) S { return merge(existing, o, controller, now) }
}

// write sends the difference between the cached status and the outcome, if there is one, and returns the new resource version, empty if
// nothing was sent. The cached object must be at least as new as the version of our last write.
//
// The patch has the resource version it was computed from, so a status that others changed meanwhile is never overwritten. As a merge
// patch it keeps fields that this build does not know.
func (t target[S, O]) write(ctx context.Context, w *Writer, key string, o O, last string) (string, error) {
	cached := t.kind.New()
	if err := w.reader.Get(ctx, objectKey(key), cached); err != nil {
		return "", err
	}
	if older(cached.GetResourceVersion(), last) {
		return "", errStale
	}
	status, ok := t.kind.Status(cached).(*S)
	if !ok {
		return "", fmt.Errorf("the status of %s is no %T", t.kind.Kind, status)
	}
	existing := *status
	merged := t.merge(existing, o, w.now())
	if equality.Semantic.DeepEqual(existing, merged) {
		return "", nil
	}
	changed, err := with(cached, status, merged)
	if err != nil {
		return "", err
	}
	err = w.client.Status().Patch(ctx, changed, client.MergeFromWithOptions(cached, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return "", err
	}
	w.events.observe(ctx, t.kind, changed, t.conditions(existing), t.conditions(merged))
	return changed.GetResourceVersion(), nil
}

// with returns a copy of an object with another status. The reply is decoded into what is sent, so the copy shares nothing with the
// cache or the outcome.
func with[S any](cached client.Object, status *S, merged S) (client.Object, error) {
	existing := *status
	*status = merged
	changed, ok := cached.DeepCopyObject().(client.Object)
	*status = existing
	if !ok {
		return nil, fmt.Errorf("a copy of %T is no object", cached)
	}
	return changed, nil
}

// older compares resource versions of one object; versions that cannot be compared are not older.
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
