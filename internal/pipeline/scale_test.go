package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// site is one Gateway with n routes of a hostname each, over a tenth as many Services.
type site struct{ n int }

func (s site) changes() []store.Change {
	changes := []store.Change{
		change(store.GatewayClass, &gwv1.GatewayClass{
			ObjectMeta: metav1.ObjectMeta{Name: "ours"}, Spec: gwv1.GatewayClassSpec{ControllerName: gateway.ControllerName},
		}),
		change(store.Gateway, &gwv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "gw", UID: "u"},
			Spec: gwv1.GatewaySpec{GatewayClassName: "ours", Listeners: []gwv1.Listener{{
				Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType,
			}}},
		}),
	}
	for i := range s.services() {
		changes = append(changes, change(store.Service, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: fmt.Sprintf("s%d", i)},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		}), s.slice(i, 1))
	}
	for i := range s.n {
		changes = append(changes, s.route(i, "/"))
	}
	return changes
}

func (s site) services() int { return max(s.n/10, 1) }

func (s site) route(i int, path string) store.Change {
	r := &gwv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: fmt.Sprintf("r%d", i)}}
	r.Spec.ParentRefs = []gwv1.ParentReference{{Name: "gw"}}
	r.Spec.Hostnames = []gwv1.Hostname{gwv1.Hostname(fmt.Sprintf("h%d.example.com", i))}
	ref := gwv1.HTTPBackendRef{}
	ref.Name, ref.Port = gwv1.ObjectName(fmt.Sprintf("s%d", i%s.services())), new(int32(80))
	r.Spec.Rules = []gwv1.HTTPRouteRule{{
		Matches:     []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Value: &path}}},
		BackendRefs: []gwv1.HTTPBackendRef{ref},
	}}
	return change(store.HTTPRoute, r)
}

func (site) slice(i, address int) store.Change {
	e := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "infra", Name: fmt.Sprintf("s%d-x", i), Labels: map[string]string{discoveryv1.LabelServiceName: fmt.Sprintf("s%d", i)}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{fmt.Sprintf("198.18.16.%d", address)}}},
	}
	return change(store.EndpointSlice, e)
}

func change(kind store.Kind, object metav1.Object) store.Change {
	return store.Change{Kind: kind, Key: store.KeyOf(object), Object: object}
}

// silent takes fleets and statuses and does nothing with them. To it, everything is live.
type silent struct{}

func (silent) Set(ir.Gateway)                                  {}
func (silent) Hold(ir.Gateway)                                 {}
func (silent) Delete(ir.Name)                                  {}
func (silent) SetClass(string, outcome.Class)                  {}
func (silent) SetGateway(string, outcome.Gateway)              {}
func (silent) SetListenerSet(string, outcome.ListenerSet)      {}
func (silent) WithdrawListenerSet(string, outcome.ListenerSet) {}
func (silent) SetRoute(store.Kind, string, outcome.Route)      {}
func (silent) Forget(store.Kind, string)                       {}

func (silent) Release(ir.Name, ir.Fleet) {}

// unselective takes selectors and does nothing with them.
type unselective struct{}

func (unselective) Set(ir.Selector)         {}
func (unselective) Release(ir.Name, string) {}
func (unselective) Delete(ir.Name)          {}

func (silent) ReleaseGateway(string, int64) {}

func (silent) Reach(map[string]string, time.Time)                  {}
func (silent) Refuse(store.Kind, string, string, []string, string) {}
func (silent) Accept(store.Kind, string, string)                   {}
func (silent) Offer(string, string, []byte)                        {}
func (silent) Withdraw(string)                                     {}
func (silent) Live(store.Kind, string, string) bool                { return true }

func (silent) SetPolicy(store.Kind, string, outcome.Policy) {}

// nowhere is a cache that nobody asks, and nobody else.
func nowhere() Outputs {
	return Outputs{Proxies: xds.NewCache(), Fleets: silent{}, Selectors: unselective{}, Statuses: silent{}, Proofs: silent{}, Peers: silent{}}
}

func started(s site) *Pipeline {
	p := New(nowhere(), prometheus.NewRegistry())
	for _, c := range s.changes() {
		p.Put(c)
	}
	p.Start()
	return p
}

func TestOneEditedRouteAmongManyComputesOneRoute(t *testing.T) {
	t.Parallel()
	s := site{n: 10_000}
	p := started(s)
	p.Put(s.route(17, "/edited"))
	report := p.config.step()
	for stage, n := range report.Computed {
		if n != 1 {
			t.Errorf("stage %q computed %d values for one edited route", stage, n)
		}
	}
	for _, stage := range []string{stageRoute, stageVirtualHost, stageHostProto} {
		if report.Computed[stage] != 1 || report.Changed[stage] != 1 {
			t.Errorf("stage %q computed %d and changed %d values, want 1 and 1", stage, report.Computed[stage], report.Changed[stage])
		}
	}
}

func TestOneEditedListenerSetTouchesNoOtherGatewayAndNoRouteOfItsOwn(t *testing.T) {
	t.Parallel()
	const sites, routes = 20, 50
	p := New(nowhere(), prometheus.NewRegistry())
	set := func(site int, hostname gwv1.Hostname) store.Change {
		return change(store.ListenerSet, &gwv1.ListenerSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: fmt.Sprintf("set%d", site)},
			Spec: gwv1.ListenerSetSpec{
				ParentRef: gwv1.ParentGatewayReference{Name: gwv1.ObjectName(fmt.Sprintf("gw%d", site))},
				Listeners: []gwv1.ListenerEntry{{Name: "more", Port: 8080, Protocol: gwv1.HTTPProtocolType, Hostname: &hostname}},
			},
		})
	}
	for _, c := range (site{n: routes}).changes() {
		p.Put(c)
	}
	for i := range sites {
		p.Put(change(store.Gateway, &gwv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: fmt.Sprintf("gw%d", i), UID: "u"},
			Spec: gwv1.GatewaySpec{
				GatewayClassName: "ours", Listeners: []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
				AllowedListeners: &gwv1.AllowedListeners{Namespaces: &gwv1.ListenerNamespaces{From: new(gwv1.NamespacesFromSame)}},
			},
		}))
		p.Put(set(i, "a.example.com"))
	}
	for i := range routes {
		r := &gwv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: fmt.Sprintf("own%d", i)}}
		r.Spec.ParentRefs = []gwv1.ParentReference{{Name: "gw3"}}
		p.Put(change(store.HTTPRoute, r))
	}
	p.Start()
	p.Put(set(3, "b.example.com"))
	report := p.config.step()
	for stage, want := range map[string]int{stageGateway: 1, stageSetStatus: 1, stageStatus: 1, stageRoute: 0} {
		if report.Computed[stage] != want {
			t.Errorf("stage %q computed %d values for one edited ListenerSet, want %d", stage, report.Computed[stage], want)
		}
	}
}

func TestAnEndpointChangeTranslatesNothing(t *testing.T) {
	t.Parallel()
	s := site{n: 1000}
	p := started(s)
	p.Put(s.slice(3, 2))
	if report := p.config.step(); len(report.Computed) != 0 {
		t.Errorf("the configuration lane computed %v for a change of endpoints", report.Computed)
	}
	report := p.endpoints.step()
	if report.Computed[stageEndpoints] != 1 || report.Changed[stageEndpoints] != 1 || report.Computed[stageServedEndpoints] != 1 || len(report.Computed) != 2 {
		t.Errorf("the endpoint lane computed %v, want one assignment", report.Computed)
	}
}

func BenchmarkCold10000Routes(b *testing.B) {
	s := site{n: 10_000}
	changes := s.changes()
	b.ReportAllocs()
	for b.Loop() {
		p := New(nowhere(), prometheus.NewRegistry())
		for _, c := range changes {
			p.Put(c)
		}
		p.Start()
	}
}

func BenchmarkOneRouteEditedAmong10000(b *testing.B) {
	s := site{n: 10_000}
	p := started(s)
	b.ReportAllocs()
	computed, i := 0, 0
	for b.Loop() {
		i++
		p.Put(s.route(17, fmt.Sprintf("/edit/%d", i)))
		computed += p.config.step().Computed[stageRoute]
	}
	b.ReportMetric(float64(computed)/float64(b.N), "routes/op")
}

func BenchmarkOneEndpointChangedAmong1000Services(b *testing.B) {
	s := site{n: 10_000}
	p := started(s)
	b.ReportAllocs()
	translated, i := 0, 0
	for b.Loop() {
		i++
		p.Put(s.slice(3, i%250))
		p.endpoints.step()
		translated += len(p.config.step().Computed)
	}
	b.ReportMetric(float64(translated)/float64(b.N), "translations/op")
}
