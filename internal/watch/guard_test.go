package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// good can be read. The others cannot, and pass the schemas of their definitions, or those of earlier versions.
var (
	good     = proxyConfig("good", `{"pod":{"resources":{"limits":{"memory":"1Gi"}}}}`)
	fraction = proxyConfig("fraction", `{"pod":{"resources":{"limits":{"memory":"1e1.5"}}}}`)
	endless  = proxyConfig("endless", `{"pod":{"resources":{"limits":{"memory":"1e-1000000000"}}}}`)
	large    = proxyConfig("large", `{"disruptionBudget":{"minAvailable":5000000000}}`)
)

func proxyConfig(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"gatewright.dev/v1alpha1","kind":"ProxyConfig",`+
		`"metadata":{"namespace":"a","name":%q,"uid":"u","resourceVersion":"7","generation":2},"spec":%s}`, name, spec)
}

func listOf(objects ...string) string {
	return `{"apiVersion":"gatewright.dev/v1alpha1","kind":"ProxyConfigList","metadata":{"resourceVersion":"9"},"items":[` +
		strings.Join(objects, ",") + `]}`
}

func routeWithStatus(name, when string) string {
	return fmt.Sprintf(`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute",`+
		`"metadata":{"namespace":"a","name":%q,"resourceVersion":"7"},"spec":{"hostnames":["a.example"]},`+
		`"status":{"parents":[{"controllerName":"x/y","parentRef":{"name":"g"},`+
		`"conditions":[{"type":"Accepted","status":"True","reason":"a","message":"","lastTransitionTime":%q}]}]}}`, name, when)
}

func guardFor(t *testing.T) *Guard {
	t.Helper()
	return NewGuard(newScheme(t), slog.New(slog.DiscardHandler), prometheus.NewRegistry())
}

// answer is what a guarded client reads when the API server says something.
func answer(t *testing.T, g *Guard, path, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := g.Client(server.Client()).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnObjectThatCannotBeReadTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	g := guardFor(t)
	list := listOf(good, fraction, endless, large)
	for _, path := range []string{
		"/apis/gatewright.dev/v1alpha1/proxyconfigs", "/apis/gatewright.dev/v1alpha1/namespaces/a/proxyconfigs",
		"/prefix/apis/gatewright.dev/v1alpha1/proxyconfigs",
	} {
		var read v1alpha1.ProxyConfigList
		if err := json.Unmarshal([]byte(answer(t, g, path, list)), &read); err != nil {
			t.Fatalf("the list cannot be read: %v", err)
		}
		if read.ResourceVersion != "9" || len(read.Items) != 4 {
			t.Fatalf("got %d objects at version %q", len(read.Items), read.ResourceVersion)
		}
		for i := range read.Items {
			item := &read.Items[i]
			if reason := store.Unreadable(item); (reason == "") != (item.Name == "good") {
				t.Errorf("%s cannot be read because of %q", item.Name, reason)
			}
			if item.UID != "u" || item.Generation != 2 || item.ResourceVersion != "7" || item.Kind != "ProxyConfig" {
				t.Errorf("of %s there is only %+v", item.Name, item.ObjectMeta)
			}
		}
		if memory := read.Items[0].Spec.Pod.Resources.Limits.Memory().String(); memory != "1Gi" {
			t.Errorf("the good one has %s", memory)
		}
	}
	if n := testutil.ToFloat64(g.unreadable.WithLabelValues("ProxyConfig", "all")); n != 9 {
		t.Errorf("%v objects are counted, want 9", n)
	}
}

// TestTargetsOfAPolicyThatCannotBeReadAreKept: a SecurityPolicy closes them.
func TestTargetsOfAPolicyThatCannotBeReadAreKept(t *testing.T) {
	t.Parallel()
	const target, large = `{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"r"}`, `"csrf":{"shadowFraction":{"numerator":5000000000}}`
	for spec, want := range map[string]int{
		`{"strategy":"Overrides","targetRefs":[` + target + `],` + large + `}`: 1,
		`{"targetRefs":[7],` + large + `}`:                                     0,
		`7`:                                                                    0,
	} {
		object := strings.Replace(proxyConfig("p", spec), "ProxyConfig", "SecurityPolicy", 1)
		list := strings.Replace(listOf(object), "ProxyConfigList", "SecurityPolicyList", 1)
		var read v1alpha1.SecurityPolicyList
		if err := json.Unmarshal([]byte(answer(t, guardFor(t), "/apis/gatewright.dev/v1alpha1/securitypolicies", list)), &read); err != nil {
			t.Fatalf("the list cannot be read: %v", err)
		}
		p := &read.Items[0]
		if store.Unreadable(p) == "" || len(p.Spec.TargetRefs) != want || p.Spec.CSRF != nil || (p.Spec.Strategy != nil) != (want > 0) {
			t.Errorf("of %s there is %+v", spec, p.Spec)
		}
	}
}

func TestAStatusThatCannotBeReadIsTakenAway(t *testing.T) {
	t.Parallel()
	g := guardFor(t)
	bad, fine := routeWithStatus("bad", "2026-11-16t05:00:00z"), routeWithStatus("fine", "2026-11-16T05:00:00Z")
	body := answer(t, g, "/apis/gateway.networking.k8s.io/v1/httproutes", `{"kind":"HTTPRouteList","items":[`+bad+","+fine+`]}`)
	var read gwv1.HTTPRouteList
	if err := json.Unmarshal([]byte(body), &read); err != nil {
		t.Fatalf("the list cannot be read: %v", err)
	}
	if len(read.Items[0].Status.Parents) != 0 || len(read.Items[0].Spec.Hostnames) != 1 || store.Unreadable(&read.Items[0]) != "" {
		t.Errorf("the bad one is %+v", read.Items[0])
	}
	if len(read.Items[1].Status.Parents) != 1 {
		t.Errorf("the fine one is %+v", read.Items[1])
	}
}

func TestAListThatIsCutOffIsNotComplete(t *testing.T) {
	t.Parallel()
	g := guardFor(t)
	whole := listOf(good, good)
	items := strings.Index(whole, "[") + 1
	for _, kept := range []int{0, 1, strings.Index(whole, `,"metadata"`), items, items + len(good), len(whole) - 2, len(whole) - 1} {
		var passed strings.Builder
		err := g.passList(kindNamed(t, store.ProxyConfig), strings.NewReader(whole[:kept]), &passed)
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("after %d bytes: %v, passed %s", kept, err, passed.String())
		}
	}
}

func TestTheRestOfAnAnswerStaysAsItIs(t *testing.T) {
	t.Parallel()
	g := guardFor(t)
	for path, body := range map[string]string{
		"/apis/gatewright.dev/v1alpha1/proxyconfigs":                `{"kind":"ProxyConfigList","metadata":{"continue":"x"},"items":[]}`,
		"/apis/gatewright.dev/v1alpha1/namespaces/b/proxyconfigs":   `{"items":null,"kind":"ProxyConfigList"}`,
		"/apis/gatewright.dev/v1alpha1/namespaces/b/proxyconfigs/c": fraction,
		"/apis/example.com/v1/proxyconfigs":                         `{"items":[` + fraction + `]}`,
		"/api/v1/services":                                          `{"items":[{"spec":1}]}`,
	} {
		if diff := cmp.Diff(body, answer(t, g, path, body)); diff != "" {
			t.Errorf("%s (-sent +read):\n%s", path, diff)
		}
	}
	gone := `{"type":"ERROR","object":{"code":410}}`
	if got := answer(t, g, "/apis/gatewright.dev/v1alpha1/proxyconfigs?watch=true", gone); got != gone+"\n" {
		t.Errorf("an error is read as %s", got)
	}
}

// TestACacheGoesOnBesideWhatItCannotRead runs a real cache against an API server with such objects, in its list and in its watch.
func TestACacheGoesOnBesideWhatItCannotRead(t *testing.T) {
	t.Parallel()
	later := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity) // an older API server, which is asked for a list
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		case query.Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			for {
				select {
				case <-r.Context().Done():
					return
				case object := <-later:
					_, _ = fmt.Fprintf(w, "{\"type\":\"ADDED\",\"object\":%s}\n", object)
					_ = http.NewResponseController(w).Flush()
				}
			}
		default:
			_, _ = io.WriteString(w, listOf(good, fraction))
		}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(server.Close)
	t.Cleanup(cancel)

	options := CacheOptions(Scope{})
	options.Scheme, options.HTTPClient = newScheme(t), guardFor(t).Client(server.Client())
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range store.Kinds {
		mapper.Add(gvkOf(t, options.Scheme, kind.Object), meta.RESTScopeNamespace)
	}
	options.Mapper = mapper
	informers, err := cache.New(&rest.Config{Host: server.URL}, options)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = informers.Start(ctx) }()
	informer, err := informers.GetInformer(ctx, &v1alpha1.ProxyConfig{}, cache.BlockUntilSynced(false))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 10)
	kind := kindNamed(t, store.ProxyConfig)
	if _, err := kind.listen(informer, func(e Event) {
		seen <- fmt.Sprintf("%s readable=%v", e.Key, store.Unreadable(e.Object) == "")
	}); err != nil {
		t.Fatal(err)
	}
	first := []string{receive(ctx, t, seen), receive(ctx, t, seen)}
	slices.Sort(first)
	if diff := cmp.Diff([]string{"a/fraction readable=false", "a/good readable=true"}, first); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	for object, setServedVersion := range map[string]string{
		endless: "a/endless readable=false", proxyConfig("next", "{}"): "a/next readable=true",
	} {
		select {
		case later <- object:
		case <-ctx.Done():
			t.Fatal("there is no watch")
		}
		if got := receive(ctx, t, seen); got != setServedVersion {
			t.Errorf("watched %s, want %s", got, setServedVersion)
		}
	}
}

func receive(ctx context.Context, t *testing.T, seen <-chan string) string {
	t.Helper()
	select {
	case s := <-seen:
		return s
	case <-ctx.Done():
		t.Fatal("nothing came")
		return ""
	}
}

// BenchmarkGuard passes a list of 1,000 small HTTPRoutes.
func BenchmarkGuard(b *testing.B) {
	scheme := runtime.NewScheme()
	if err := gwv1.Install(scheme); err != nil {
		b.Fatal(err)
	}
	g := NewGuard(scheme, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	list := `{"kind":"HTTPRouteList","items":[` + strings.TrimSuffix(strings.Repeat(routeWithStatus(
		"r", "2026-11-16T05:00:00Z",
	)+",", 1000), ",") + `]}`
	custom, _ := store.CustomOf(store.HTTPRoute)
	kind := watched{custom}
	b.SetBytes(int64(len(list)))
	b.ReportAllocs()
	for b.Loop() {
		if err := g.passList(kind, strings.NewReader(list), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
