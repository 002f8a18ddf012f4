package live

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/clock"
)

// What the installation gives its parts.
const (
	ControllerName      = "gatewright.dev/gateway-controller"
	ControllerNamespace = "gatewright-system"
	GatewayClass        = "gatewright"
)

// Run runs the tests of a package.
func Run(m *testing.M) int {
	log.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	return m.Run()
}

// Fixture is what a test has: a client and a namespace of its own, which is deleted at the end.
type Fixture struct {
	client.Client
	Namespace string
	// HTTP opens a connection for each request.
	HTTP *http.Client
}

// New makes the namespace of a test.
func New(t *testing.T) *Fixture {
	t.Helper()
	return NewIn(t, config.GetConfigOrDie())
}

// NewIn makes the namespace of a test in the cluster of that connection.
func NewIn(t *testing.T, connection *rest.Config) *Fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, gwv1.Install, gwv1beta1.Install, gwxv1alpha1.Install, v1alpha1.AddToScheme,
		inferencev1.Install,
	} {
		if err := add(scheme); err != nil {
			t.Fatalf("build the scheme: %v", err)
		}
	}
	connection.QPS = -1 // some tests make thousands of objects
	c, err := client.New(connection, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
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
	return &Fixture{
		Client:    c,
		Namespace: namespace.Name,
		HTTP:      &http.Client{Transport: clock.Transport{Base: &http.Transport{DisableKeepAlives: true}, Limit: requestLimit}},
	}
}

// requestLimit is how long an answer may take.
const requestLimit = 5 * time.Second

// Make makes objects in the test's namespace.
func (w *Fixture) Make(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		object.SetNamespace(w.Namespace)
		if err := w.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}

// Writers is how many objects are created at the same time when there are many.
const Writers = 8

// MakeMany makes numbered objects, several at a time, in the test's namespace unless they have one.
func (w *Fixture) MakeMany(t *testing.T, n int, object func(i int) client.Object) {
	t.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	for range Writers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				o := object(i)
				if o.GetNamespace() == "" {
					o.SetNamespace(w.Namespace)
				}
				if err := w.Create(t.Context(), o); err != nil {
					t.Errorf("create %T %s: %v", o, o.GetName(), err)
					return
				}
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// Eventually calls check until it has nothing to complain about, and returns how long that took.
func Eventually(t *testing.T, limit, pause time.Duration, check func(context.Context) error) time.Duration {
	t.Helper()
	start := clock.Now()
	ctx, cancel := clock.WithTimeout(t.Context(), limit)
	defer cancel()
	var complaint error
	for {
		err := check(ctx)
		if err == nil {
			return clock.Since(start)
		}
		// What is interrupted at the end says less than what was said before.
		if ctx.Err() == nil || complaint == nil {
			complaint = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %v", limit, complaint)
		case <-time.After(pause):
		}
	}
}
