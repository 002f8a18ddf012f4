package simulation

import (
	"strconv"
	"strings"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// ref names an object.
type ref struct {
	kind store.Kind
	key  string
}

// event is what a replica is to learn of an object, which is nil if it is gone.
type event struct {
	ref
	object     runtimeclient.Object
	statusOnly bool
}

// apiServer keeps the objects. Whatever changes is put on its way to all replicas.
type apiServer struct {
	mu      sync.Mutex
	objects map[ref]runtimeclient.Object
	version int
	notify  func(event)
}

// put makes or replaces an object. A new specification has the next generation; a new object has another UID.
func (a *apiServer) put(kind store.Kind, object runtimeclient.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := ref{kind, store.KeyOf(object)}
	a.version++
	if before := a.objects[r]; before != nil {
		object.SetUID(before.GetUID())
		object.SetGeneration(before.GetGeneration() + 1)
		object.SetCreationTimestamp(before.GetCreationTimestamp())
		keepStatus(object, before)
	} else {
		object.SetUID(uid(r.key, a.version))
		object.SetGeneration(1)
	}
	object.SetResourceVersion(strconv.Itoa(a.version))
	a.objects[r] = object
	a.notify(event{ref: r, object: object})
}

func (a *apiServer) remove(kind store.Kind, key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	delete(a.objects, ref{kind, key})
	a.notify(event{ref: ref{kind, key}})
}

func (a *apiServer) has(kind store.Kind, key string) bool { return a.objects[ref{kind, key}] != nil }

// keepStatus has a new specification keep the status.
func keepStatus(object, before runtimeclient.Object) {
	switch o := object.(type) {
	case *gwv1.HTTPRoute:
		o.Status = *as[*gwv1.HTTPRoute](before).Status.DeepCopy()
	case *gwv1.Gateway:
		o.Status = *as[*gwv1.Gateway](before).Status.DeepCopy()
	}
}

// writeStatus replaces the status of an object by that of another version of it, which must be the present one.
func (a *apiServer) writeStatus(kind store.Kind, changed runtimeclient.Object) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := ref{kind, store.KeyOf(changed)}
	resource := schema.GroupResource{Group: gwv1.GroupName, Resource: string(kind)}
	before := a.objects[r]
	if before == nil {
		return apierrors.NewNotFound(resource, r.key)
	}
	if before.GetResourceVersion() != changed.GetResourceVersion() {
		return apierrors.NewConflict(resource, r.key, nil)
	}
	a.version++
	changed.SetResourceVersion(strconv.Itoa(a.version))
	stored := as[runtimeclient.Object](changed.DeepCopyObject())
	a.objects[r] = stored
	a.notify(event{ref: r, object: stored, statusOnly: true})
	return nil
}

// route is the object in a slot, nil if there is none.
func (a *apiServer) route(i int) *gwv1.HTTPRoute {
	r, _ := a.objects[ref{store.HTTPRoute, store.Key(namespace, routeName(i))}].(*gwv1.HTTPRoute)
	return r
}

// ready are the proxies that the EndpointSlice of a Gateway's fleet calls ready.
func ready(slice *discoveryv1.EndpointSlice) []string {
	var pods []string
	for _, e := range slice.Endpoints {
		pods = append(pods, e.TargetRef.Name)
	}
	return pods
}

// stampOf is the stamp of a route's specification.
func stampOf(r *gwv1.HTTPRoute) int {
	n, _ := strconv.Atoi(r.Spec.Rules[0].Filters[0].ResponseHeaderModifier.Set[0].Value)
	return n
}

func spoiled(r *gwv1.HTTPRoute) bool {
	return *r.Spec.Rules[0].Matches[0].Path.Type == gwv1.PathMatchRegularExpression
}

// slotOf is the slot of a route by the name of one of its rules, `HTTPRoute/<namespace>/<name>/…`; -1 if it is none of ours.
func slotOf(rule string) int {
	parts := strings.Split(rule, "/")
	if len(parts) < 3 || !strings.HasPrefix(parts[2], "r") {
		return -1
	}
	n, err := strconv.Atoi(parts[2][1:])
	if err != nil {
		return -1
	}
	return n
}
