package endpoints_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/internal/endpoints"
	"github.com/gatewright/gatewright/internal/ir"
)

func serviceImport(change ...func(*mcsv1beta1.ServiceImport)) *mcsv1beta1.ServiceImport {
	i := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"},
		Spec: mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.ClusterSetIP, Ports: []mcsv1beta1.ServicePort{
			{Name: "dns", Port: 80, Protocol: corev1.ProtocolUDP}, {Name: "web", Port: 80},
		}},
	}
	for _, c := range change {
		c(i)
	}
	return i
}

// of is a slice of the ServiceImport from a cluster.
func of(cluster, name string, family discoveryv1.AddressType, all ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	s := slice(name, family, all...)
	s.Labels = map[string]string{mcsv1beta1.LabelServiceName: "cart", mcsv1beta1.LabelSourceCluster: cluster}
	return s
}

// priorities writes an assignment as `priority zone address:port`, in its order.
func priorities(a *endpointv3.ClusterLoadAssignment) string {
	var out []string
	for _, group := range a.GetEndpoints() {
		one := &endpointv3.ClusterLoadAssignment{Endpoints: []*endpointv3.LocalityLbEndpoints{group}}
		for line := range strings.SplitSeq(lines(one), ", ") {
			out = append(out, fmt.Sprintf("%d %s", group.GetPriority(), line))
		}
	}
	return strings.Join(out, ", ")
}

func TestServiceImport(t *testing.T) {
	t.Parallel()
	headless := func(i *mcsv1beta1.ServiceImport) { i.Spec.Type = mcsv1beta1.Headless }
	onlyUDP := func(i *mcsv1beta1.ServiceImport) { i.Spec.Ports = i.Spec.Ports[:1] }
	prefersIPv6 := func(i *mcsv1beta1.ServiceImport) {
		i.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	}
	onlyNode := func(i *mcsv1beta1.ServiceImport) {
		i.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
	}
	east, west := of("east", "a", v4, in("z", "10.0.0.1")), of("west", "b", v4, in("z", "10.1.0.1"))
	north := of("north", "c", v4, at("10.2.0.1"))
	for _, tt := range []struct {
		name    string
		cluster string
		objects []metav1.Object
		want    string
	}{
		{"this cluster comes first", "east", []metav1.Object{
			serviceImport(), east, west, north,
		}, "0 z 10.0.0.1:8080, 1 10.2.0.1:8080, 1 z 10.1.0.1:8080"},
		{"without this cluster the others are first", "east", []metav1.Object{
			serviceImport(), west, north,
		}, "0 10.2.0.1:8080, 0 z 10.1.0.1:8080"},
		{"this cluster alone", "east", []metav1.Object{serviceImport(), east}, "0 z 10.0.0.1:8080"},
		{"without an id all clusters are alike", "", []metav1.Object{serviceImport(), east, west}, "0 z 10.0.0.1:8080, 0 z 10.1.0.1:8080"},
		{"a slice that names no cluster is of another one", "east", []metav1.Object{
			serviceImport(), east, of("", "d", v4, at("10.3.0.1")),
		}, "0 z 10.0.0.1:8080, 1 10.3.0.1:8080"},
		{"an address in two clusters counts in this one", "east", []metav1.Object{
			serviceImport(), east, of("west", "b", v4, at("10.0.0.1")),
		}, "0 z 10.0.0.1:8080"},
		{"endpoints that are not ready here leave the others first", "east", []metav1.Object{
			serviceImport(), of("east", "a", v4, unready(at("10.0.0.1"), false, false)), west,
		}, "0 z 10.1.0.1:8080"},
		{"what is ready in another cluster comes before what terminates here", "east", []metav1.Object{
			serviceImport(), of("east", "a", v4, unready(at("10.0.0.1"), true, true)), west,
		}, "0 z 10.1.0.1:8080"},
		{"what terminates serves when nothing is ready anywhere", "east", []metav1.Object{
			serviceImport(), of("east", "a", v4, unready(at("10.0.0.1"), true, true)), of("west", "b", v4, unready(at("10.1.0.1"), true, true)),
		}, "0 10.0.0.1:8080, 1 10.1.0.1:8080"},
		{"clusters may have other IP families", "east", []metav1.Object{
			serviceImport(), of("east", "a", v6, at("fd00::1")), west,
		}, "0 fd00::1:8080, 1 z 10.1.0.1:8080"},
		{"each cluster is reached by the family that the import prefers", "east", []metav1.Object{
			serviceImport(prefersIPv6), east, of("east", "d", v6, at("fd00::1")), west,
		}, "0 fd00::1:8080, 1 z 10.1.0.1:8080"},
		{"a headless import has the ports of its pods", "east", []metav1.Object{serviceImport(headless), east}, "0 z 10.0.0.1:8080"},
		{"a port that the import does not have has none", "east", []metav1.Object{serviceImport(onlyUDP), east}, ""},
		{"slices of the Service of its name are not its own", "east", []metav1.Object{
			serviceImport(), service(), slice("a", v4, at("10.0.0.9")),
		}, ""},
		{"an import that is not there has none", "east", []metav1.Object{service(), east}, ""},
		{"nodes and zones of other clusters mean nothing here", "east", []metav1.Object{
			serviceImport(onlyNode), of("east", "a", v4, on("n1", "10.0.0.1", "z1", "n1")),
		}, "0 10.0.0.1:8080"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cart := ir.ParseEndpoints("ServiceImport/shop/cart/80")
			assign := func() *endpointv3.ClusterLoadAssignment {
				objects := load(tt.objects...)
				objects.ClusterID = tt.cluster
				got, local, _ := endpoints.Assign(nil, objects, cart)
				if local != nil {
					t.Errorf("some proxies get others: %+v", local)
				}
				return got
			}
			got := assign()
			if err := got.ValidateAll(); err != nil {
				t.Error(err)
			}
			if got.GetClusterName() != "ServiceImport/shop/cart/80" || priorities(got) != tt.want {
				t.Errorf("%s is %q, want %q", got.GetClusterName(), priorities(got), tt.want)
			}
			slices.Reverse(tt.objects)
			if again := assign(); !proto.Equal(got, again) {
				t.Error("the order of objects made a difference")
			}
		})
	}
}

func TestOfServiceImport(t *testing.T) {
	t.Parallel()
	want := []string{"ServiceImport/shop/cart/80/udp", "ServiceImport/shop/cart/80"}
	if got := texts(endpoints.OfServiceImport(serviceImport())); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Endpoints elsewhere must not take the place of those in this cluster.
func TestLimitOfAServiceImport(t *testing.T) {
	t.Parallel()
	var here, there []discoveryv1.Endpoint
	for i := range 200 {
		here, there = append(here, at(fmt.Sprintf("10.0.0.%d", i))), append(there, at(fmt.Sprintf("10.1.0.%d", i)))
	}
	objects := load(serviceImport(), of("east", "a", v4, here...), of("west", "b", v4, there...))
	for limit, want := range map[int][]int{100: {100}, 250: {200, 50}} {
		objects.ClusterID, objects.Limits.Endpoints = "east", limit
		got, size := endpoints.LoadAssignment(nil, objects, ir.ParseEndpoints("ServiceImport/shop/cart/80"))
		var counts []int
		for i, g := range got.GetEndpoints() {
			counts = append(counts, len(g.GetLbEndpoints()))
			if int(g.GetPriority()) != i {
				t.Errorf("limit %d: group %d has priority %d", limit, i, g.GetPriority())
			}
		}
		if size.Wanted != 400 || size.Taken != limit || !slices.Equal(counts, want) {
			t.Errorf("limit %d: size %+v, %v endpoints in groups, want %v", limit, size, counts, want)
		}
	}
}
