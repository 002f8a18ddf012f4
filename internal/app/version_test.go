package app

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/gatewright/gatewright/internal/identity"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/version"
)

func TestVersionIsPrintedWithWhatItIsMadeFor(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	command := Command()
	command.SetOut(&stdout)
	command.SetArgs([]string{"version"})
	want := version.Current().Text() + "envoy:      " + render.EnvoyVersion + "\ngatewayAPI: " + consts.BundleVersion + "\n"
	if err := command.Execute(); err != nil || stdout.String() != want {
		t.Errorf("got %v, and printed:\n%swant:\n%s", err, stdout.String(), want)
	}
}

func TestTheBuildIsMeasured(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	measureBuild(registry, version.Info{Version: "v0.1.0", Revision: "0123", Go: "go1.99"})
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "gatewright_build_info" {
		t.Fatalf("measured %v, %v", families, err)
	}
	metric := families[0].GetMetric()[0]
	labels := map[string]string{}
	for _, label := range metric.GetLabel() {
		labels[label.GetName()] = label.GetValue()
	}
	if metric.GetGauge().GetValue() != 1 || labels["version"] != "v0.1.0" || labels["revision"] != "0123" || labels["goversion"] != "go1.99" {
		t.Errorf("measured %v", metric)
	}
}

// TestClientsNameTheVersionToTheAPIServer has requests of each kind of client that there is.
func TestClientsNameTheVersionToTheAPIServer(t *testing.T) {
	t.Parallel()
	build := version.Info{Version: "v0.1.0", Revision: "0123", Go: "go1.99"}
	for _, test := range []struct {
		name string
		ask  func(ctx context.Context, config *rest.Config) error
		want string
	}{
		{"a client of objects is the controller", func(ctx context.Context, config *rest.Config) error {
			c, err := client.New(config, client.Options{})
			if err != nil {
				return err
			}
			_ = c.Get(ctx, client.ObjectKey{Namespace: "system", Name: "ca"}, &corev1.Secret{})
			return nil
		}, build.UserAgent("controller")},
		{"a client of the lease is its leader election", func(ctx context.Context, config *rest.Config) error {
			lock, err := newLock(config, Options{Namespace: "system"})
			if err != nil {
				return err
			}
			_, _, _ = lock.Get(ctx)
			return nil
		}, build.UserAgent("controller/leader-election")},
		{"a client of other paths is the controller", func(ctx context.Context, config *rest.Config) error {
			c, err := rest.HTTPClientFor(config)
			if err != nil {
				return err
			}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+identity.KeysPath, http.NoBody)
			if err != nil {
				return err
			}
			answer, err := c.Do(request)
			if err != nil {
				return err
			}
			return answer.Body.Close()
		}, build.UserAgent("controller")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			agents := make(chan string, 100)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				agents <- r.UserAgent()
				w.WriteHeader(http.StatusNotFound)
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			prepare(config, build, slog.New(slog.DiscardHandler))
			if err := test.ask(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			close(agents)
			var asked []string
			for agent := range agents {
				asked = append(asked, agent)
			}
			if others := slices.DeleteFunc(slices.Clone(asked), func(a string) bool { return a == test.want }); len(asked) == 0 || len(others) > 0 {
				t.Errorf("asked as %q, want %q", asked, test.want)
			}
		})
	}
}
