//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/modelreader"
)

const modelsHost, otherHost = "models.example.com", "other.example.com"

const modelListener = `
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {name: model}
spec:
  extProc:
    - backendRefs: [{name: model-reader, port: 80}]
      messageTimeout: 10s
      processingMode: {request: {body: Buffered}, response: {body: Streamed}}
      metadata: {writableNamespaces: [usage]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: models}
spec:
  gatewayClassName: gatewright
  listeners:
    - name: models
      port: 80
      protocol: HTTP
      hostname: models.example.com
      filters: {requests: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Extension, name: model}}]}
    - {name: other, port: 80, protocol: HTTP, hostname: other.example.com}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: models}
spec:
  parentRefs: [{name: models}]
  rules:
    - matches: [{headers: [{name: x-model, value: llama}]}]
      backendRefs: [{name: llama, port: 80}]
    - matches: [{headers: [{name: x-model, value: mistral}]}]
      backendRefs: [{name: mistral, port: 80}]`

const tokenLimit = `
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: tokens}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: models}]
  rateLimit:
    global:
      rules:
        - clientSelectors: [{headers: [{name: x-user, type: Distinct}]}]
          limit: {requests: 20, unit: Day}
          cost:
            request: {from: Number, number: 0}
            response: {from: Metadata, metadata: {namespace: usage, key: tokens}}`

// serveModels makes the Services llama and mistral, whose responses use 12 tokens, and model-reader, which the test runs itself.
func (w *fixture) serveModels(t *testing.T) (reader *modelreader.Server, stop func()) {
	t.Helper()
	for _, name := range []string{"llama", "mistral"} {
		w.ServeHere(t, name, func(response http.ResponseWriter, _ *http.Request) {
			response.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(response, `{"model": %q, "usage": {"total_tokens": 12}}`+"\n", name)
		})
	}
	reader = &modelreader.Server{}
	server := grpc.NewServer()
	extprocv3.RegisterExternalProcessorServer(server, reader)
	listener := w.ListenHere(t, "model-reader")
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return reader, server.Stop
}

// prompt is a request for a model, and what has to come back: a status, and the model that answers.
type prompt struct {
	name, host, body string
	headers          []string
	status           int
	model            string
}

func (w *fixture) prompts(t *testing.T, address string, all ...prompt) {
	t.Helper()
	for _, p := range all {
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			e, err := send(ctx, http.MethodPost, address, p.host, "/v1/chat/completions", strings.NewReader(p.body), p.headers...)
			if err != nil {
				return err
			}
			if e.status != p.status || p.model != "" && !strings.Contains(e.body, fmt.Sprintf("%q", p.model)) {
				return fmt.Errorf("%s: %d %s, want %d %s", p.name, e.status, e.body, p.status, p.model)
			}
			return nil
		})
	}
}

// TestListenerExtension has a listener send every request to a server before a route is chosen. It reads the model from the body, and the
// route is chosen by it. It also reads the tokens of responses, which a limit counts.
func TestListenerExtension(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	w.needEnabled(t, "--extensions=extProc", "--rate-limits")
	reader, stop := w.serveModels(t)
	w.makeYAML(t, strings.TrimPrefix(modelListener, "\n"))
	gateway := &gwv1.Gateway{}
	gateway.Namespace, gateway.Name = w.Namespace, "models"
	address := w.WaitProgrammed(t, gateway)
	const llama, mistral = `{"model": "llama"}`, `{"model": "mistral"}`
	forged := []string{"X-Model", "mistral"}
	w.prompts(t, address,
		prompt{"a model", modelsHost, llama, nil, http.StatusOK, "llama"},
		prompt{"another model", modelsHost, mistral, nil, http.StatusOK, "mistral"},
		prompt{"a forged header", modelsHost, llama, forged, http.StatusOK, "llama"},
		prompt{"a host in capitals", strings.ToUpper(modelsHost), llama, forged, http.StatusOK, "llama"},
		prompt{"an unknown model", modelsHost, `{"model": "gpt"}`, forged, http.StatusNotFound, ""},
		prompt{"no model", modelsHost, "hello", forged, http.StatusNotFound, ""},
		prompt{"no body", modelsHost, "", forged, http.StatusNotFound, ""},
	)
	asked := reader.Asked()
	w.prompts(t, address, prompt{"the other listener", otherHost, llama, forged, http.StatusOK, "mistral"})
	if reader.Asked() != asked {
		t.Error("the server saw a request of the other listener")
	}
	w.makeYAML(t, tokenLimit)
	w.policyProgrammed(t, "tokens")
	w.prompts(t, address,
		prompt{"a limit that responses use up", modelsHost, llama, []string{"X-User", "ali"}, http.StatusTooManyRequests, ""},
		prompt{"another user", modelsHost, llama, []string{"X-User", "eva"}, http.StatusOK, "llama"},
	)
	stop()
	w.prompts(t, address,
		prompt{"without a server", modelsHost, llama, forged, http.StatusInternalServerError, ""},
		prompt{"without a server, the other listener", otherHost, llama, forged, http.StatusOK, "mistral"},
	)
	w.removeExtension(t, "model")
	w.prompts(t, address,
		prompt{"without an Extension", modelsHost, llama, forged, http.StatusInternalServerError, ""},
		prompt{"without an Extension, the other listener", otherHost, llama, forged, http.StatusOK, "mistral"},
	)
}

// removeExtension deletes an Extension, and waits until the listener reports it.
func (w *fixture) removeExtension(t *testing.T, name string) {
	t.Helper()
	extension := &v1alpha1.Extension{}
	extension.Namespace, extension.Name = w.Namespace, name
	if err := w.Delete(t.Context(), extension); err != nil {
		t.Fatal(err)
	}
	gateway := &gwv1.Gateway{}
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "models"}, gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		for _, l := range gateway.Status.Listeners {
			c := meta.FindStatusCondition(l.Conditions, string(gwv1.ListenerConditionResolvedRefs))
			if l.Name == "models" && c != nil && c.Reason == "InvalidListenerFilterRef" {
				return nil
			}
		}
		return fmt.Errorf("the listener does not report that its Extension does not exist: %+v", gateway.Status.Listeners)
	})
}
