package watch

import (
	"context"
	"log/slog"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

func TestNodesAreWatchedOnDemand(t *testing.T) {
	t.Parallel()
	own := metav1.ObjectMeta{Namespace: "infra", Name: "gw", Labels: map[string]string{"app.kubernetes.io/managed-by": "gatewright"}}
	service := func(meta metav1.ObjectMeta, kind corev1.ServiceType) client.Object {
		return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: kind}}
	}
	daemons := func(hostPort int32) client.Object {
		set := &appsv1.DaemonSet{ObjectMeta: own}
		set.Spec.Template.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: hostPort}}}}
		return set
	}
	serviceKind, daemonKind := corev1.SchemeGroupVersion.WithKind("Service"), appsv1.SchemeGroupVersion.WithKind("DaemonSet")
	for _, c := range []struct {
		name             string
		object           client.Object
		setServedVersion bool
	}{
		{"a fleet with a load balancer needs none", service(own, corev1.ServiceTypeLoadBalancer), false},
		{"a fleet with ports of nodes needs them", service(own, corev1.ServiceTypeNodePort), true},
		{"Services of others need none", service(metav1.ObjectMeta{Namespace: "infra", Name: "other"}, corev1.ServiceTypeNodePort), false},
		{"a fleet that opens ports on nodes needs them", daemons(80), true},
		{"a fleet on every node needs none", daemons(0), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newCluster(t)
			server.of(corev1.SchemeGroupVersion.WithKind("Node")).Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
			kind := serviceKind
			if _, ok := c.object.(*appsv1.DaemonSet); ok {
				kind = daemonKind
			}
			seen := make(chan store.Change, 100)
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			watcher := New(server, slog.New(slog.DiscardHandler), func(e Event) {
				if e.Kind == store.Node {
					seen <- e.Change
				}
			})
			watcher.startTimeout = timeout
			server.of(kind).Add(c.object)
			if err := watcher.Start(ctx); err != nil {
				t.Fatal(err)
			}
			if got := len(seen) > 0; got != c.setServedVersion {
				t.Errorf("nodes were read: %t", got)
			}
		})
	}
}

// forbidden is a cluster in which nodes cannot be listed.
type forbidden struct{ *cluster }

func (f forbidden) GetInformer(ctx context.Context, object client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	if f.gvk(object).Kind == "Node" {
		return toolscache.NewSharedIndexInformer(f.of(f.gvk(object)), object, 0, toolscache.Indexers{}), nil // which does not run
	}
	return f.cluster.GetInformer(ctx, object, opts...)
}

func TestStartGoesOnWithoutNodesThatCannotBeListed(t *testing.T) {
	t.Parallel()
	server := forbidden{newCluster(t)}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
	service.Namespace, service.Name, service.Labels = "infra", "gw", map[string]string{"app.kubernetes.io/managed-by": "gatewright"}
	server.source(store.Service).Add(service)
	watcher := New(server, slog.New(slog.DiscardHandler), func(Event) {})
	watcher.startTimeout = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := watcher.Start(ctx); err != nil {
		t.Error(err)
	}
}
