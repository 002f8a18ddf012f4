//go:build fault

package fault

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase26BackendRollout replaces every pod of a Service under load. The pods do what a pod must: they are ready when they serve, and
// serve for a few seconds longer when they are to end.
func TestCase26BackendRollout(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	c := begin(t, "26", "every pod of a backend is replaced under load")
	w := newFixture(t)
	pods := amount(100, 25)
	selector := client.MatchingLabels{"app": "rolled"}
	deployment := w.rollable(t, "rolled", int32(pods)) //nolint:gosec // a hundred
	w.EchoService(t, "rolled")
	w.Route(t, "rolled", gatewayName, "rolled.example.com", "rolled")
	w.WaitServed(t, w.address, "rolled.example.com")

	old := w.PodNames(t, selector)
	watch := w.watchEndpoints(t, w.OneProxy(t, gatewayName), "rolled")
	run := w.startLoad(t, "rolled.example.com")
	w.Roll(t, deployment)
	took := w.WaitReplaced(t, selector, old)
	result := run.Stop()
	stale := watch.stop()
	c.note("%d pods replaced in %s", len(old), rounded(took))
	c.load(result)
	c.exactly(len(stale), "endpoints seen leaving", len(old))
	var slowest time.Duration
	for _, after := range stale {
		slowest = max(slowest, after)
	}
	c.took(slowest, "gone from the proxy within", limit)
}

// rollable starts pods that can be replaced without losing a request.
func (w *fixture) rollable(t *testing.T, name string, replicas int32) *appsv1.Deployment {
	t.Helper()
	w.Echo(t, name, 1)
	deployment := &appsv1.Deployment{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, deployment); err != nil {
		t.Fatal(err)
	}
	before := deployment.DeepCopy()
	pod := &deployment.Spec.Template.Spec
	pod.Containers[0].ReadinessProbe = &corev1.Probe{
		PeriodSeconds: 1,
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/health", Port: intstr.FromInt32(live.EchoPort)}},
	}
	pod.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
	deployment.Spec.Replicas = &replicas
	if err := w.Patch(t.Context(), deployment, client.MergeFrom(before)); err != nil {
		t.Fatalf("change %s: %v", name, err)
	}
	live.Eventually(t, 5*time.Minute, 500*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return fmt.Errorf("get %s: %w", name, err)
		}
		var pods corev1.PodList
		if err := w.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{"app": name}); err != nil {
			return fmt.Errorf("list the pods of %s: %w", name, err)
		}
		status := deployment.Status
		if status.ObservedGeneration != deployment.Generation || status.UpdatedReplicas != replicas || status.ReadyReplicas != replicas ||
			len(pods.Items) != int(replicas) {
			return fmt.Errorf("%d of %d pods of %s are ready, and there are %d", status.ReadyReplicas, replicas, name, len(pods.Items))
		}
		return nil
	})
	return deployment
}

// endpointWatch measures how long a proxy has endpoints that Kubernetes no longer lists as ready.
type endpointWatch struct {
	end  context.CancelFunc
	done sync.WaitGroup

	mu        sync.Mutex
	endpoints map[string]*watchedEndpoint
}

type watchedEndpoint struct {
	// left is when it was seen that it is not listed, gone how long after that the proxy no longer had it, or zero.
	left time.Time
	gone time.Duration
}

// watchEndpoints begins to compare the endpoints of a Service with what a proxy has, ten times a second.
func (w *fixture) watchEndpoints(t *testing.T, proxy *corev1.Pod, service string) *endpointWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watch := &endpointWatch{end: cancel, endpoints: map[string]*watchedEndpoint{}}
	admin := adminClient(t, proxy)
	look := func() error {
		listed, err := w.listed(ctx, service)
		if err != nil {
			return err
		}
		held, err := addresses(ctx, admin)
		if err == nil {
			watch.see(listed, held)
		}
		return err
	}
	if err := look(); err != nil {
		t.Fatal(err)
	}
	watch.done.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := look(); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	return watch
}

// listed are the addresses that Kubernetes says are ready behind a Service.
func (w *fixture) listed(ctx context.Context, service string) (map[string]bool, error) {
	var slices discoveryv1.EndpointSliceList
	if err := w.List(ctx, &slices, client.InNamespace(w.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
		return nil, fmt.Errorf("list the endpoints of %s: %w", service, err)
	}
	listed := map[string]bool{}
	for i := range slices.Items {
		for _, endpoint := range slices.Items[i].Endpoints {
			if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
				listed[endpoint.Addresses[0]] = true
			}
		}
	}
	return listed, nil
}

func (e *endpointWatch) see(listed, held map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	for address := range listed {
		if e.endpoints[address] == nil {
			e.endpoints[address] = &watchedEndpoint{}
		}
	}
	for address, endpoint := range e.endpoints {
		if endpoint.left.IsZero() && !listed[address] {
			endpoint.left = now
		}
		if !endpoint.left.IsZero() && endpoint.gone == 0 && !held[address] {
			endpoint.gone = max(now.Sub(endpoint.left), time.Millisecond)
		}
	}
}

// stop ends it and returns how long each endpoint that left was still held.
func (e *endpointWatch) stop() []time.Duration {
	e.end()
	e.done.Wait()
	var stale []time.Duration
	for _, endpoint := range e.endpoints {
		switch {
		case endpoint.left.IsZero():
		case endpoint.gone == 0:
			stale = append(stale, time.Hour)
		default:
			stale = append(stale, endpoint.gone)
		}
	}
	return stale
}

// addresses are those that a proxy holds as endpoints.
func addresses(ctx context.Context, admin *http.Client) (map[string]bool, error) {
	body, err := askAdmin(ctx, admin, "/clusters")
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	held := map[string]bool{}
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		// cluster::198.18.16.7:3000::cx_active::0
		if parts := strings.Split(lines.Text(), "::"); len(parts) > 2 {
			if host, _, err := net.SplitHostPort(parts[1]); err == nil {
				held[host] = true
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the endpoints: %w", err)
	}
	return held, nil
}
