package endpoints_test

import (
	"fmt"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/endpoints"
)

// on is an endpoint on a node, for the proxies of a zone and, if it is named, of a node.
func on(node, address, forZone, forNode string) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{Addresses: []string{address}, NodeName: &node}
	if forZone != "" {
		e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: forZone}}}
	}
	if forNode != "" {
		e.Hints.ForNodes = []discoveryv1.ForNode{{Name: forNode}}
	}
	return e
}

func TestLocalEndpoints(t *testing.T) {
	t.Parallel()
	onlyLocal := func(s *corev1.Service) { s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal) }
	hinted := slice("a", v4, on("n1", "10.0.0.1", "z1", "n1"), on("n2", "10.0.0.2", "z2", "n2"))
	for _, c := range []struct {
		name    string
		objects []metav1.Object
		// want is by place: a node, a zone, or `elsewhere`.
		nodes, zones map[string]string
		elsewhere    bool
	}{
		{"a Service that asks for nothing has none", []metav1.Object{service(), slice("a", v4, at("10.0.0.1"))}, nil, nil, false},
		{
			"hints are followed, of the node and of the zone",
			[]metav1.Object{service(), hinted},
			map[string]string{"n1": "10.0.0.1:8080", "n2": "10.0.0.2:8080"},
			map[string]string{"z1": "10.0.0.1:8080", "z2": "10.0.0.2:8080"},
			false,
		},
		{
			"hints that only some endpoints have do not count",
			[]metav1.Object{service(), slice("a", v4, on("n1", "10.0.0.1", "z1", ""), at("10.0.0.2"))},
			nil, nil, false,
		},
		{
			"hints for zones alone",
			[]metav1.Object{service(), slice("a", v4, on("n1", "10.0.0.1", "z1", ""), on("n2", "10.0.0.2", "z1", ""))},
			nil,
			map[string]string{"z1": "10.0.0.1:8080, 10.0.0.2:8080"},
			false,
		},
		{
			"internalTrafficPolicy Local keeps requests on the node, or answers 503",
			[]metav1.Object{service(onlyLocal), hinted},
			map[string]string{"n1": "10.0.0.1:8080", "n2": "10.0.0.2:8080"},
			nil, true,
		},
		{"internalTrafficPolicy Local without endpoints", []metav1.Object{service(onlyLocal)}, nil, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, got, _ := endpoints.Assign(nil, load(c.objects...), cart)
			if got == nil {
				if len(c.nodes) > 0 || len(c.zones) > 0 || c.elsewhere {
					t.Fatal("all proxies get the same")
				}
				return
			}
			same(t, "nodes", got.Nodes, c.nodes)
			same(t, "zones", got.Zones, c.zones)
			if (got.Elsewhere != nil) != c.elsewhere || len(got.Elsewhere.GetEndpoints()) > 0 {
				t.Errorf("elsewhere: %v", got.Elsewhere)
			}
		})
	}
}

func TestHintsThatMakeTooManyCopiesDoNotCount(t *testing.T) {
	t.Parallel()
	everywhere := func(endpoints, places int) *discoveryv1.EndpointSlice {
		var all []discoveryv1.Endpoint
		for i := range endpoints {
			e := on("n", fmt.Sprintf("10.0.%d.%d", i/200, i%200+1), "", "")
			e.Hints = &discoveryv1.EndpointHints{}
			for place := range places {
				e.Hints.ForZones = append(e.Hints.ForZones, discoveryv1.ForZone{Name: fmt.Sprintf("z%d-%d", i, place)})
				e.Hints.ForNodes = append(e.Hints.ForNodes, discoveryv1.ForNode{Name: fmt.Sprintf("n%d-%d", i, place)})
			}
			all = append(all, e)
		}
		return slice("a", v4, all...)
	}
	for _, c := range []struct {
		name              string
		endpoints, places int
		counts            bool
	}{
		{"few endpoints for many places", 50, 8, true},
		{"many endpoints for one place each", 800, 1, true},
		{"many endpoints for many places", 800, 8, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all, got, size := endpoints.Assign(nil, load(service(), everywhere(c.endpoints, c.places)), cart)
			if (got != nil) != c.counts || size.Taken != c.endpoints || all == nil {
				t.Errorf("proxies get what is near: %t, of %d endpoints", got != nil, size.Taken)
			}
		})
	}
}

func same(t *testing.T, what string, got map[string]*endpointv3.ClusterLoadAssignment, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d, want %d", what, len(got), len(want))
	}
	for place, assignment := range got {
		if lines(assignment) != want[place] {
			t.Errorf("%s: %s has %q, want %q", what, place, lines(assignment), want[place])
		}
	}
}
