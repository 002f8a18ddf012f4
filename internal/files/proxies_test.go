package files

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/costtest"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

func TestAProxyCannotSendUsElsewhere(t *testing.T) {
	t.Parallel()
	var visits atomic.Int32
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer secret.Close()
	proxy := httptest.NewServer(http.RedirectHandler(secret.URL, http.StatusFound))
	defer proxy.Close()
	if id, err := askAt(t.Context(), proxy.URL); err == nil || visits.Load() != 0 {
		t.Errorf("it answered %q, error %v, and %d requests went elsewhere", id, err, visits.Load())
	}
}

// sliceOf is the slice of a fleet's Service with one endpoint of a kind.
func sliceOf(service, kind string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{render.GatewayNameLabel: "x", discoveryv1.LabelServiceName: service}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"198.18.16.1"}, TargetRef: &corev1.ObjectReference{Kind: kind, Name: "proxy"},
		}},
	}
}

func TestOnlyPodsAreAsked(t *testing.T) {
	t.Parallel()
	p := New(Config{Log: slog.New(slog.DiscardHandler)})
	gateway := exampleGateway()
	p.Serve(gateway)
	for kind, want := range map[string]int{"Pod": 1, "Node": 0, "": 0} {
		p.Endpoints(gateway.Name.Namespace, "slice", sliceOf(gateway.Fleet.Name, kind))
		if got := p.pods.of(gateway); len(got) != want {
			t.Errorf("of kind %q there are %v", kind, got)
		}
	}
}

func TestAGatewayThatIsMadeAgainWritesNoFilesOfTheOneBefore(t *testing.T) {
	t.Parallel()
	p := New(Config{Log: slog.New(slog.DiscardHandler)})
	gateway := exampleGateway()
	p.Serve(gateway)
	p.Own(group, gateway.Fleet.UID)
	if p.acquire(gateway.Name) == nil {
		t.Error("the Gateway is forgotten, and is the same")
	}
	p.Own(group, "another")
	if p.acquire(gateway.Name) != nil {
		t.Error("files of the Gateway before go on being written")
	}
	gateway.Fleet.UID = "another"
	p.Serve(gateway)
	if s := p.acquire(gateway.Name); s == nil || s.gateway.Fleet.UID != "another" {
		t.Errorf("files are written for %v", s)
	}
}

func TestASliceOfNoFleetCostsTheSameHoweverManyFleetsThereAre(t *testing.T) {
	t.Parallel()
	of := func(fleets int) *Plane {
		p := New(Config{Log: slog.New(slog.DiscardHandler)})
		for i := range fleets {
			name := fmt.Sprint("gateway-", i)
			p.Serve(ir.Gateway{Name: ir.Name{Namespace: "shop", Name: name}, Fleet: ir.Fleet{Name: name}})
			p.Endpoints("shop", name, sliceOf(name, "Pod"))
		}
		return p
	}
	few, many := of(10), of(20_000)
	foreign := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: "backend"}}}
	// A walk through all fleets would take two thousand times as long.
	costtest.ExpectSame(t, func() { few.Endpoints("shop", "backend", foreign) }, func() { many.Endpoints("shop", "backend", foreign) })
}

func TestServicesOfGatewaysThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	p := New(Config{Log: slog.New(slog.DiscardHandler)})
	gateway := exampleGateway()
	p.Serve(gateway)
	moved := gateway
	moved.Fleet.Name = "edge-other"
	p.Serve(moved)
	if len(p.byService) != 2 {
		t.Errorf("after a change of class there are %v", p.byService)
	}
	p.Leave(gateway.Name)
	p.Endpoints(gateway.Name.Namespace, "slice", sliceOf(gateway.Fleet.Name, "Pod"))
	p.Endpoints(gateway.Name.Namespace, "slice", nil)
	if len(p.byService)+len(p.pods.slices)+len(p.pods.services) != 0 {
		t.Errorf("there are %v and %v", p.byService, p.pods)
	}
}
