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
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// scenario is one Gateway with n routes of a hostname each, over a tenth as many Services.
type scenario struct{ n int }

func (s scenario) changes() []store.Change {
	changes := []store.Change{
		change(store.GatewayClass, &gwv1.GatewayClass{
			ObjectMeta: metav1.ObjectMeta{Name: "ours"}, Spec: gwv1.GatewayClassSpec{ControllerName: class.ControllerName},
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

func (s scenario) services() int { return max(s.n/10, 1) }

func (s scenario) route(i int, path string) store.Change {
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

func (scenario) slice(i, address int) store.Change {
	e := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "infra",
			Name:      fmt.Sprintf("s%d-x", i),
			Labels:    map[string]string{discoveryv1.LabelServiceName: fmt.Sprintf("s%d", i)},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{fmt.Sprintf("198.18.16.%d", address)}}},
	}
	return change(store.EndpointSlice, e)
}

func change(kind store.Kind, object metav1.Object) store.Change {
	return store.Change{Kind: kind, Key: store.KeyOf(object), Object: object}
}

// discard receives fleets and statuses and does nothing with them. To it, everything is live.
type discard struct{}

func (discard) Set(ir.Gateway)                                  {}
func (discard) Freeze(ir.Gateway)                               {}
func (discard) Delete(ir.Name)                                  {}
func (discard) SetClass(string, outcome.Class)                  {}
func (discard) SetGateway(string, outcome.Gateway)              {}
func (discard) SetListenerSet(string, outcome.ListenerSet)      {}
func (discard) WithdrawListenerSet(string, outcome.ListenerSet) {}
func (discard) SetRoute(store.Kind, string, outcome.Route)      {}
func (discard) Forget(store.Kind, string)                       {}

func (discard) Release(ir.Name, ir.Fleet) {}

// discardSelectors receives selectors and does nothing with them.
type discardSelectors struct{}

func (discardSelectors) Set(ir.Selector)                  {}
func (discardSelectors) Release(ir.BackendTarget, string) {}
func (discardSelectors) Delete(ir.BackendTarget)          {}

func (discard) ReleaseGateway(string, int64) {}

func (discard) Reach(map[xds.GroupID]string, time.Time)                           {}
func (discard) Reject(store.Kind, string, string, outcome.Rejection)              {}
func (discard) Accept(store.Kind, string, string)                                 {}
func (discard) Offer(string, string, []byte)                                      {}
func (discard) Withdraw(string)                                                   {}
func (discard) Acked(xds.GroupID, string, map[string]struct{}) (acked, ready int) { return 0, 0 }
func (discard) NACKed(xds.GroupID)                                                {}
func (discard) Reported(map[xds.GroupID]int)                                      {}
func (discard) Knows(xds.GroupID, string) bool                                    { return true }
func (discard) Live(store.Kind, string, string) bool                              { return true }
func (discard) OnDisconnect(func())                                               {}

func (discard) SetPolicy(store.Kind, string, outcome.Policy) {}

// discardAll has a cache without proxies, and ignores everything else.
func discardAll() Outputs {
	return Outputs{
		Proxies:     xds.NewCache(),
		Fleets:      discard{},
		Selectors:   discardSelectors{},
		Statuses:    discard{},
		Convergence: discard{},
		Peers:       discard{},
	}
}

func started(s scenario) *Pipeline {
	p := New(discardAll(), prometheus.NewRegistry())
	for _, c := range s.changes() {
		p.Put(c)
	}
	p.Start()
	return p
}

func TestOneEditedRouteAmongManyComputesOneRoute(t *testing.T) {
	t.Parallel()
	s := scenario{n: 10_000}
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
	const gateways, routes = 20, 50
	p := New(discardAll(), prometheus.NewRegistry())
	set := func(gateway int, hostname gwv1.Hostname) store.Change {
		return change(store.ListenerSet, &gwv1.ListenerSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: fmt.Sprintf("set%d", gateway)},
			Spec: gwv1.ListenerSetSpec{
				ParentRef: gwv1.ParentGatewayReference{Name: gwv1.ObjectName(fmt.Sprintf("gw%d", gateway))},
				Listeners: []gwv1.ListenerEntry{{Name: "more", Port: 8080, Protocol: gwv1.HTTPProtocolType, Hostname: &hostname}},
			},
		})
	}
	for _, c := range (scenario{n: routes}).changes() {
		p.Put(c)
	}
	for i := range gateways {
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
	s := scenario{n: 1000}
	p := started(s)
	p.Put(s.slice(3, 2))
	if report := p.config.step(); len(report.Computed) != 0 {
		t.Errorf("the configuration lane computed %v for a change of endpoints", report.Computed)
	}
	report := p.endpoints.step()
	if report.Computed[stageEndpoints] != 1 || report.Changed[stageEndpoints] != 1 || report.Computed[stageServedEndpoints] != 1 ||
		len(report.Computed) != 2 {
		t.Errorf("the endpoint lane computed %v, want one assignment", report.Computed)
	}
}

func BenchmarkCold10000Routes(b *testing.B) {
	s := scenario{n: 10_000}
	changes := s.changes()
	b.ReportAllocs()
	for b.Loop() {
		p := New(discardAll(), prometheus.NewRegistry())
		for _, c := range changes {
			p.Put(c)
		}
		p.Start()
	}
}

func BenchmarkOneRouteEditedAmong10000(b *testing.B) {
	s := scenario{n: 10_000}
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
	s := scenario{n: 10_000}
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
