package worldtest

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// World makes random objects from small pools of names, so that references meet, miss and conflict all the time.
type World struct{ *rand.Rand }

// New makes a world of its own for each pair of seeds.
func New(seed1, seed2 uint64) World {
	return World{rand.New(rand.NewPCG(seed1, seed2))} //nolint:gosec // a seed on purpose: what was found can be found again
}

var (
	namespaces = []string{"infra", "app", "web"}
	protocols  = []gwv1.ProtocolType{
		gwv1.HTTPProtocolType, gwv1.HTTPProtocolType, gwv1.HTTPSProtocolType, gwv1.TLSProtocolType, gwv1.TLSProtocolType,
		gwv1.TCPProtocolType, gwv1.UDPProtocolType,
	}
	hostnames = []gwv1.Hostname{"a.example.com", "b.example.com", "*.example.com", "*.b.example.com", "other.org", "*.org"}
	paths     = []string{"/", "/a", "/a/b", "/a/b/c", "/z", "[0-9]+", "(", "/a/"}
)

// makers has a way to make an object of each kind.
var makers = []struct {
	kind store.Kind
	make func(w World) metav1.Object
}{
	{store.GatewayClass, World.class},
	{store.Gateway, World.gateway},
	{store.ListenerSet, World.listenerSet},
	{store.HTTPRoute, World.httpRoute},
	{store.GRPCRoute, World.grpcRoute},
	{store.TLSRoute, World.tlsRoute},
	{store.TCPRoute, World.tcpRoute},
	{store.UDPRoute, World.udpRoute},
	{store.ReferenceGrant, World.grant},
	{store.Namespace, World.namespace},
	{store.Service, World.service},
	{store.Secret, World.secret},
	{store.BackendTLSPolicy, World.backendTLSPolicy},
	{store.ConfigMap, World.configMap},
	{store.ClusterTrustBundle, World.clusterTrustBundle},
	{store.EndpointSlice, World.slice},
	{store.Deployment, World.deployment},
	{store.DaemonSet, World.daemonSet},
	{store.ProxyConfig, World.proxyConfig},
	{store.CustomResourceDefinition, World.definition},
	{store.XBackendTrafficPolicy, World.backendTrafficPolicy},
	{store.XBackend, World.xbackend},
	{store.XTelemetryPolicy, World.telemetryPolicy},
}

// Change makes an object come, change or go.
func (w World) Change() store.Change {
	m := makers[w.IntN(len(makers))]
	object := m.make(w)
	c := store.Change{Kind: m.kind, Key: store.KeyOf(object), Object: object}
	if w.IntN(4) == 0 {
		c.Object = nil
	}
	return c
}

func pick[T any](w World, list ...T) T { return list[w.IntN(len(list))] }

func (w World) coin() bool { return w.IntN(2) == 0 }

func (w World) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name), Generation: int64(w.IntN(3)),
		CreationTimestamp: metav1.NewTime(time.Unix(int64(1000+w.IntN(3)), 0)),
	}
}
