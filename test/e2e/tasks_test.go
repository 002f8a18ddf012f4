//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/test/live"
)

const tasks = "../../docs/tasks"

// pageAddress is the address of a server outside the cluster in the pages.
const pageAddress = "{address: 192.0.2.10, port: 8080}"

// block is a fenced block of a page: its language and its text.
var block = regexp.MustCompile("(?s)\n```([a-z]+)\n(.*?\n)```\n")

// TestTasks applies the objects of the pages in docs/tasks, and sends their requests, as they are written.
func TestTasks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	shop := &shop{}
	w.ServeHere(t, "shop", shop.ServeHTTP)
	w.ServeHere(t, "catalogue", shop.ServeHTTP)
	w.secondEndpoint(t, "catalogue", shop.ServeHTTP)
	w.ServeHere(t, "auth", func(response http.ResponseWriter, request *http.Request) {
		if request.Header.Get("X-Token") != "good" {
			response.WriteHeader(http.StatusForbidden)
		}
		response.Header().Set("X-User", "ali")
	})
	w.serveModels(t)
	billing := w.Echo(t, "billing", 1)[0].Status.PodIP
	w.Make(t, live.TLSSecret(t, "shop-tls", "shop.example"))

	start := blocks(t, "README.md")
	w.makeYAML(t, strings.TrimSuffix(start[0][2], "\n"))
	gateway := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "edge"}}
	address := w.WaitProgrammed(t, gateway)
	functions := start[len(start)-1][2]
	pages, err := filepath.Glob(tasks + "/*.md")
	if err != nil || len(pages) < 26 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if name == "README.md" {
			continue
		}
		w.waitOpen(t, address)
		if !t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			defer shop.down.Store(false)
			for _, b := range blocks(t, name) {
				switch language, text := b[1], b[2]; language {
				case "yaml":
					text = strings.Replace(text, pageAddress, fmt.Sprintf("{address: %q, port: %d}", billing, live.EchoPort), 1)
					w.perform(t, text)
				case "console":
					if got := console(t, functions, address, text); got != text {
						t.Errorf("got\n%s\nwant\n%s", got, text)
					}
				}
			}
		}) {
			t.Logf("%s is not true", page)
		}
	}
}

// waitOpen waits until the shop is as it was before the first page.
func (w *fixture) waitOpen(t *testing.T, address string) {
	t.Helper()
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+live.Host(address)+"/", http.NoBody)
		if err != nil {
			return fmt.Errorf("make a request: %w", err)
		}
		request.Host = "shop.example"
		response, err := w.HTTP.Do(request)
		if err != nil {
			return fmt.Errorf("send a request: %w", err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("the shop answers %s", response.Status)
		}
		return nil
	})
}

// blocks are the fenced blocks of a page.
func blocks(t *testing.T, page string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tasks, filepath.Clean(page)))
	if err != nil {
		t.Fatal(err)
	}
	all := block.FindAllStringSubmatch(string(text), -1)
	if len(all) < 2 {
		t.Fatalf("%s has %d fenced blocks", page, len(all))
	}
	return all
}

// perform makes the objects of a page and waits until proxies have them. They are deleted when the page ends.
func (w *fixture) perform(t *testing.T, text string) {
	t.Helper()
	for part := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(part), &object.Object); err != nil {
			t.Fatalf("read an object: %v\n%s", err, part)
		}
		w.Make(t, object)
		t.Cleanup(func() {
			if err := w.Delete(context.WithoutCancel(t.Context()), object); err != nil {
				t.Errorf("delete %s %s: %v", object.GetKind(), object.GetName(), err)
			}
		})
		if !slices.Contains([]string{"ClientTrafficPolicy", "BackendTrafficPolicy", "SecurityPolicy", "HTTPRoute"}, object.GetKind()) {
			continue
		}
		live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return fmt.Errorf("read an object: %w", err)
			}
			if !isProgrammed(object) {
				return fmt.Errorf("%s %s is not Programmed: %v", object.GetKind(), object.GetName(), object.Object["status"])
			}
			return nil
		})
	}
}

// isProgrammed looks at the condition of a policy, or of the first parent of a route.
func isProgrammed(object *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	if parents, _, _ := unstructured.NestedSlice(object.Object, "status", "parents"); len(parents) > 0 {
		parent, _ := parents[0].(map[string]any)
		conditions, _, _ = unstructured.NestedSlice(parent, "conditions")
	}
	has := func(is func(kind string, condition map[string]any) bool) bool {
		return slices.ContainsFunc(conditions, func(c any) bool {
			condition, _ := c.(map[string]any)
			kind, _ := condition["type"].(string)
			return is(kind, condition)
		})
	}
	// What the object refers to may arrive after it.
	if has(func(kind string, condition map[string]any) bool {
		return kind == "ResolvedRefs" && condition["status"] == "False"
	}) {
		return false
	}
	return has(func(kind string, condition map[string]any) bool {
		return strings.HasSuffix(kind, "Programmed") && condition["status"] == "True" && condition["observedGeneration"] == object.GetGeneration()
	})
}

// console runs the commands of a block, and returns the block with what they print.
func console(t *testing.T, functions, address, text string) string {
	t.Helper()
	script := strings.Builder{}
	script.WriteString(functions)
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			script.WriteString("cat <<'@@'\n" + line + "@@\n" + command)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script.String())
	shell.Env = append(os.Environ(), "GATEWAY="+live.Host(address))
	output, err := shell.Output()
	if err != nil {
		t.Logf("the last command: %v", err)
	}
	return string(output)
}

// shop is the application of the pages.
type shop struct {
	flaky atomic.Int64
	down  atomic.Bool
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	text := fmt.Sprintf("%s %s %s", r.Method, r.Host, r.URL.Path)
	switch {
	case path == "slow":
		time.Sleep(8 * time.Second)
	case path == "flaky" && s.flaky.Add(1)%3 != 0, path == "healthz" && name == "" && s.down.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case path == "healthz" && r.Method == http.MethodPut:
		s.down.Store(name == "down")
	case path == "error":
		w.WriteHeader(http.StatusInternalServerError)
	case path == "large":
		text = strings.Repeat("large ", 1000)
	case path == "header":
		text = r.Header.Get(name)
	case path == "client":
		text, _, _ = strings.Cut(r.Header.Get("X-Forwarded-For"), ",")
	case path == "endpoint":
		text = fmt.Sprint(r.Context().Value(http.LocalAddrContextKey))
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = fmt.Fprintln(w, text) //nolint:gosec // a test reads it, and no browser
}

// secondEndpoint adds an endpoint to a Service whose requests the test answers.
func (w *fixture) secondEndpoint(t *testing.T, service string, handler http.HandlerFunc) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: service}, slice); err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(w.NodeAddress(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	endpoint, _ := listener.Addr().(*net.TCPAddr)
	slice.ObjectMeta = metav1.ObjectMeta{Name: service + "-2", Labels: slice.Labels}
	slice.Ports[0].Port = new(int32(endpoint.Port)) //nolint:gosec // a TCP port
	w.Make(t, slice)
}
