//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

const (
	controllerName      = "gatewright.dev/gateway-controller"
	controllerNamespace = "gatewright-system"
	gatewayClass        = "gatewright"
)

// controllerPods selects the pods of the control plane.
var controllerPods = client.MatchingLabels{"app.kubernetes.io/name": "gatewright", "app.kubernetes.io/component": "controller"}

func TestMain(m *testing.M) {
	log.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	os.Exit(m.Run())
}

// world is what a test has: a client and a namespace of its own, which is deleted at the end.
type world struct {
	client.Client
	namespace string
	http      *http.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, gwv1.Install, gwv1beta1.Install, gwxv1alpha1.Install} {
		if err := add(scheme); err != nil {
			t.Fatalf("build the scheme: %v", err)
		}
	}
	c, err := client.New(config.GetConfigOrDie(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context is over by now.
		err := c.Delete(context.Background(), namespace)
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("delete namespace %s: %v", namespace.Name, err)
		}
	})
	return &world{
		Client:    c,
		namespace: namespace.Name,
		http:      &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// create makes objects in the test's namespace.
func (w *world) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		object.SetNamespace(w.namespace)
		if err := w.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}

// eventually calls check until it has nothing to complain about, and returns how long that took.
func eventually(t *testing.T, limit, pause time.Duration, check func(context.Context) error) time.Duration {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return time.Since(start)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %v", limit, err)
		case <-time.After(pause):
		}
	}
}

// answer is what the echo backend says about itself.
type answer struct {
	Pod string `json:"pod"`
	// Headers are those of the request.
	Headers map[string][]string `json:"headers"`
}

func (a *answer) read(content []byte) error {
	if err := json.Unmarshal(content, a); err != nil {
		return fmt.Errorf("read the echo of %q: %w", content, err)
	}
	return nil
}

// get sends one request through a Gateway on a connection of its own.
func (w *world) get(ctx context.Context, address, host string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", http.NoBody)
	if err != nil {
		return answer{}, fmt.Errorf("make a request to %s: %w", address, err)
	}
	request.Host = host
	response, err := w.http.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("request to %s: %w", host, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("answer of %s: %w", host, err)
	}
	if response.StatusCode != http.StatusOK {
		return answer{}, fmt.Errorf("answer of %s: %s %s", host, response.Status, body)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return answer{}, fmt.Errorf("answer of %s: %w", host, err)
	}
	return a, nil
}

// waitServed waits until a host is answered through a Gateway.
func (w *world) waitServed(t *testing.T, address, host string) {
	t.Helper()
	eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		_, err := w.get(ctx, address, host)
		return err
	})
}

// controllers lists the pods of the control plane that are ready.
func (w *world) controllers(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := w.List(ctx, &pods, client.InNamespace(controllerNamespace), controllerPods); err != nil {
		return nil, fmt.Errorf("list the controller's pods: %w", err)
	}
	var ready []corev1.Pod
	for i := range pods.Items {
		if podReady(&pods.Items[i]) && pods.Items[i].DeletionTimestamp == nil {
			ready = append(ready, pods.Items[i])
		}
	}
	return ready, nil
}

// waitControllers waits until a number of controllers is ready, none of them among those killed.
func (w *world) waitControllers(t *testing.T, want int, killed map[string]bool) {
	t.Helper()
	eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		ready, err := w.controllers(ctx)
		if err != nil {
			return err
		}
		n := 0
		for i := range ready {
			if !killed[ready[i].Name] {
				n++
			}
		}
		if n < want {
			return fmt.Errorf("%d of %d controllers are ready", n, want)
		}
		return nil
	})
}

func podReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
