package pipeline

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// base is what every case has: our class, two Services in the namespace `infra`, and beside it [keys].
const base = `
kind: GatewayClass
metadata: {name: gatewright}
spec: {controllerName: gatewright.dev/gateway-controller}
---
kind: Service
metadata: {namespace: infra, name: v1}
spec: {ports: [{name: http, port: 80}]}
---
kind: Service
metadata: {namespace: infra, name: v2}
spec: {ports: [{name: http, port: 80}]}
---
`

// keys is a key pair in the Secret infra/cert, authorities in the ConfigMap infra/ca and the ClusterTrustBundle ca, and a revocation list
// in the ConfigMap infra/crl.
func keys() []store.Change {
	pair := fuzzobjects.KeyPairs()[0]
	secret := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: pair[0], corev1.TLSPrivateKeyKey: pair[1]}}
	authorities := &corev1.ConfigMap{Data: map[string]string{corev1.ServiceAccountRootCAKey: string(pair[0])}}
	bundle := &certificatesv1.ClusterTrustBundle{Spec: certificatesv1.ClusterTrustBundleSpec{TrustBundle: string(pair[0])}}
	revocations := &corev1.ConfigMap{Data: map[string]string{v1alpha1.CRLKey: string(fuzzobjects.Revocations())}}
	return []store.Change{
		{Kind: store.Secret, Key: "infra/cert", Object: secret},
		{Kind: store.ConfigMap, Key: "infra/ca", Object: authorities},
		{Kind: store.ConfigMap, Key: "infra/crl", Object: revocations},
		{Kind: store.ClusterTrustBundle, Key: "ca", Object: bundle},
	}
}

// TestGolden has a folder for each rule of the standard, named after the conformance test that looks at it: what goes in, what proxies
// should do (ir), and what is said of each object (status).
func TestGolden(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/*/in.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			in, err := os.ReadFile(path) //nolint:gosec // the test's own files
			if err != nil {
				t.Fatal(err)
			}
			g := newGraph()
			g.objects.System = "gatewright-system"
			if strings.Contains(string(in), "\nkind: Extension\n") {
				g.objects.EnabledExtensions = store.ExtensionTypes{ExtProc: true, Lua: true}
			}
			g.objects.GlobalRateLimits = !strings.HasSuffix(dir, "-disabled")
			g.files = !strings.HasSuffix(dir, "-not-offered")
			for _, c := range append(keys(), resolvetest.Load(t, base+string(in))...) {
				g.objects.Apply(c)
			}
			findIdle(t, g, base+string(in))
			g.memo.Run()
			compare(t, filepath.Join(dir, "ir.yaml"), irOf(g))
			compare(t, filepath.Join(dir, "status.yaml"), statusOf(g))
		})
	}
}

// findIdle has the lane of endpoints run for a case that has any.
func findIdle(t *testing.T, g *graph, in string) {
	t.Helper()
	if !strings.Contains(in, "kind: "+string(store.EndpointSlice)) {
		return
	}
	e := newEndpointGraph()
	for _, c := range resolvetest.Load(t, in) {
		e.objects.Apply(c)
	}
	e.memo.Run()
	idle := map[ir.Endpoints]bool{}
	e.changes(func(of ir.Endpoints, none bool) { idle[of] = none })
	g.takeIdle(idle)
}

func addPolicy(host ir.VirtualHost, name string, out map[string]any) {
	if host.Policy != nil {
		out[name+" has the policy"] = host.Policy
	}
}

// addDestinations adds the settings of policies for the clusters of Gateways.
func addDestinations(g *graph, out map[string]any) {
	for _, key := range g.clusters.Keys(nil) {
		layer, _ := g.inherited.gateways.Get(nil, key.Gateway)
		if settings := g.destination(nil, layer, key.Backend); settings != nil {
			out["settings of "+key.String()] = settings
		}
	}
}

// addEndpoints adds where the endpoints of backends are that are not Services.
func addEndpoints(g *graph, out map[string]any) {
	for _, key := range g.xbackends.Keys(nil) {
		r, _ := g.xbackends.Get(nil, key)
		out["external hostname of XBackend "+key] = r.Hostname
	}
	for _, kind := range g.selections {
		for _, key := range kind.table.Keys(nil) {
			s, _ := kind.table.Get(nil, key)
			out["endpoints of "+kind.kind.String()+" "+key] = s.selector
		}
	}
}

func irOf(g *graph) map[string]any {
	out := map[string]any{}
	for _, key := range g.hosts.Keys(nil) {
		host, _ := g.hosts.Get(nil, key)
		name := "virtual host " + key.String()
		out[name] = host.Rules
		if host.Chain != "" {
			out[name+" is served to chain"] = host.Chain
		}
		out[name+" has filters"] = host.Filters
		addPolicy(host, name, out)
	}
	for _, key := range g.gateways.Keys(nil) {
		r, _ := g.gateways.Get(nil, key)
		var ports []ir.Port
		for _, id := range portsOf(key, g.withHTTP3(nil, r)) {
			port, _ := g.ports.Get(nil, id)
			port.TargetPort, _ = g.shared.sockets.Get(nil, id)
			ports = append(ports, port)
		}
		out["ports of "+key] = ports
		if r.Gateway.Fleet.Shared != (ir.Name{}) {
			out["fleet of "+key] = r.Gateway.Fleet.Shared.String()
		}
		if r.Gateway.Fleet.Delivery != ir.XDS {
			out["delivery of "+key] = r.Gateway.Fleet.Delivery
		}
		if !reflect.DeepEqual(r.Gateway.Fleet.Proxies, ir.Proxies{}) {
			out["proxies of "+key] = r.Gateway.Fleet.Proxies
		}
	}
	for _, key := range g.shared.fleets.Keys(nil) {
		out["shared fleet "+key], _ = g.shared.fleets.Get(nil, key)
	}
	for _, key := range g.tls.byGateway.Keys(nil) {
		tls, _ := g.tls.byGateway.Get(nil, key)
		out["backend TLS "+key.String()] = tls
	}
	for _, key := range g.tracing.Keys(nil) {
		out["tracing of "+key], _ = g.tracing.Get(nil, key)
	}
	addEndpoints(g, out)
	addDestinations(g, out)
	for _, key := range g.rateLimits.Keys(nil) {
		out["global limits of "+key], _ = g.rateLimits.Get(nil, key)
	}
	for _, key := range g.retryBudgets.Keys(nil) {
		out["retry budget "+key.String()], _ = g.retryBudgets.Get(nil, key)
	}
	return out
}

func statusOf(g *graph) map[string]any {
	out := map[string]any{}
	for _, key := range g.classes.Keys(nil) {
		if class, _ := g.classes.Get(nil, key); class.Ours && class.Outcome.Conditions[0].State != outcome.True {
			out[string(store.GatewayClass)+"/"+key] = class.Outcome.Conditions[0]
		}
	}
	for _, key := range g.gatewayStatus.Keys(nil) {
		o, _ := g.gatewayStatus.Get(nil, key)
		out[string(store.Gateway)+"/"+key] = o.outcome
	}
	for _, key := range g.setStatus.Keys(nil) {
		o, _ := g.setStatus.Get(nil, key)
		out[string(store.ListenerSet)+"/"+key] = o.outcome
	}
	for _, key := range g.routeStatus.Keys(nil) {
		out[key], _ = g.routeStatus.Get(nil, key)
	}
	for _, policies := range g.policyOutcomes {
		for _, key := range policies.outcomes.Keys(nil) {
			out[string(policies.kind)+"/"+key], _ = policies.outcomes.Get(nil, key)
		}
	}
	return out
}

func compare(t *testing.T, path string, value map[string]any) {
	t.Helper()
	got, err := yaml.Marshal(slim(t, value))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path) //nolint:gosec // the test's own files
	if err != nil {
		t.Fatalf("%v; write it with: go test ./internal/pipeline -run TestGolden -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (want -, got +); if that is right: go test ./internal/pipeline -run TestGolden -update\n%s", path, diff)
	}
}

// slim leaves out what has no value, so that a case shows only what it is about.
func slim(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var loose any
	if err := json.Unmarshal(text, &loose); err != nil {
		t.Fatal(err)
	}
	return withoutEmpty(loose)
}

func withoutEmpty(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Collect(maps.Keys(v)) {
			v[key] = withoutEmpty(v[key])
			if isEmpty(v[key]) {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	}
	return value
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case float64:
		return v == 0
	case bool:
		return !v
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
