//go:build fuzz

package fuzz

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/types/known/anypb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/files"
	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// fileSets is how many sets are read from files. A live Envoy takes the same resources by the thousand over xDS; what is tried here
// is how they are laid out.
const fileSets = 100

// TestEnvoyReadsEverything lays sets of objects, one after the other, into a directory as a kubelet does, and has one live Envoy read each
// of them without refusing anything.
func TestEnvoyReadsEverything(t *testing.T) {
	t.Parallel()
	generated := make(chan (<-chan []store.Change), 2)
	done := make(chan struct{})
	defer close(done)
	go makeSets(admissions(t), generated, done)

	cache := xds.NewCache()
	var validationErrors bytes.Buffer
	p := pipeline.New(pipeline.Outputs{
		Proxies: cache, Fleets: discard{}, Selectors: discardSelectors{}, Statuses: discard{}, Convergence: discard{}, Peers: discard{},
	},
		prometheus.NewRegistry(), pipeline.WithLog(slog.New(slog.NewTextHandler(&validationErrors, nil))), pipeline.WithFiles(true))
	volume := &volume{path: filepath.Join(t.TempDir(), "files")}
	held := map[subject]bool{}
	var e *envoy
	for n := range fileSets {
		next := map[subject]bool{}
		for _, c := range byFiles(<-<-generated) {
			next[subject{c.Kind, c.Key}] = true
			p.Put(c)
		}
		for s := range held {
			if !next[s] {
				p.Put(store.Change{Kind: s.kind, Key: s.key})
			}
		}
		held = next
		p.Start()
		all, id, err := files.Render(volume.path, cache.Snapshot(xds.GroupID(fuzzobjects.HostileGateway)))
		if err != nil {
			t.Fatalf("set %d: %v", n, err)
		}
		volume.write(t, all)
		if e == nil {
			e = launchWithFiles(t, volume.path)
			t.Cleanup(e.stop)
		}
		if err := e.awaitFiles(id); err != nil {
			t.Fatalf("set %d: %v\n%s", n, err, e.words())
		}
	}
}

// byFiles has the Gateway of a set ask for files.
func byFiles(set []store.Change) []store.Change {
	for _, c := range set {
		if gw, ok := c.Object.(*gwv1.Gateway); ok {
			gw.Spec.Infrastructure = &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{
				Group: v1alpha1.GroupName, Kind: "ProxyConfig", Name: "files",
			}}
		}
	}
	return append(set, store.Change{
		Kind: store.ProxyConfig, Key: store.Key(fuzzobjects.HostileGateway.Namespace, "files"),
		Object: &v1alpha1.ProxyConfig{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: fuzzobjects.HostileGateway.Namespace, Name: "files",
			}, Spec: v1alpha1.ProxyConfigSpec{Delivery: new(v1alpha1.DeliveryFiles), GeoIP: &v1alpha1.GeoIP{MaxMind: &v1alpha1.MaxMind{
				CityDBPath: new(v1alpha1.DatabasePath("/geo/city.mmdb")),
			}}},
		},
	})
}

// volume is a directory whose files are replaced as a kubelet does: into a new directory, then a link is renamed, then there are links
// to files that are new.
type volume struct {
	path  string
	count int
}

func (v *volume) write(t *testing.T, all map[string][]byte) {
	t.Helper()
	v.count++
	fresh := fmt.Sprintf("..%d", v.count)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.MkdirAll(filepath.Join(v.path, fresh), 0o700))
	for name, content := range all {
		check(os.WriteFile(filepath.Join(v.path, fresh, name), content, 0o600))
	}
	check(os.Symlink(fresh, filepath.Join(v.path, "..data_tmp")))
	check(os.Rename(filepath.Join(v.path, "..data_tmp"), filepath.Join(v.path, "..data")))
	check(os.RemoveAll(filepath.Join(v.path, fmt.Sprintf("..%d", v.count-1))))
}

// launchWithFiles starts a proxy with the bootstrap that a fleet would have which is supplied by files, but for where they are, and
// with all statistics.
func launchWithFiles(t *testing.T, path string) *envoy {
	t.Helper()
	bootstrap := bootstrapOf(t, fuzzobjects.HostileGateway, ir.Files, render.Settings{})
	bootstrap.DynamicResources = &bootstrapv3.Bootstrap_DynamicResources{
		LdsConfig: layout.ConfigSource(path, layout.Listeners), CdsConfig: layout.ConfigSource(path, layout.Clusters),
	}
	bootstrap.StatsConfig = nil
	ready := bootstrap.GetStaticResources().GetListeners()[0]
	ready.Address = pipe(filepath.Join(filepath.Dir(path), "ready.sock"))
	manager := &hcmv3.HttpConnectionManager{}
	filter := ready.GetFilterChains()[0].GetFilters()[0]
	if err := filter.GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	manager.GetRds().ConfigSource = layout.ConfigSource(path, layout.Loaded)
	packed, err := anypb.New(manager)
	if err != nil {
		t.Fatal(err)
	}
	filter.GetTypedConfig().Value = packed.GetValue()
	e := launch(t, filepath.Dir(path), bootstrap)
	e.ready = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(
		ctx context.Context, _, _ string,
	) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(filepath.Dir(path), "ready.sock"))
	}}}
	return e
}

// awaitFiles waits until Envoy says that it has read the files, and finds out whether it refused any.
func (e *envoy) awaitFiles(id string) error {
	deadline := time.After(ackTimeout)
	for {
		if loaded, err := e.loaded(); err == nil && loaded == id {
			break
		}
		select {
		case <-e.gone:
			return errEnvoyGone
		case <-deadline:
			return errUnanswered
		case <-time.After(time.Millisecond):
		}
	}
	// A file that is gone is a failure to Envoy, which may look for it until the cluster or listener has gone too.
	refused, err := e.get("/stats?usedonly&filter=update_rejected")
	if err != nil {
		return err
	}
	for line := range strings.Lines(refused) {
		if !strings.HasSuffix(strings.TrimSpace(line), ": 0") {
			return fmt.Errorf("%w: %s", errRefused, line)
		}
	}
	return nil
}

func (e *envoy) loaded() (string, error) {
	response, err := e.ready.Get("http://ready" + layout.LoadedPath)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
