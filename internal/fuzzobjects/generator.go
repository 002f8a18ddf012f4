package fuzzobjects

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// Generator makes random objects from small pools of names, so that references often resolve, fail or conflict.
type Generator struct{ *rand.Rand }

// New returns a generator. Each pair of seeds gives other objects.
func New(seed1, seed2 uint64) Generator {
	return Generator{rand.New(rand.NewPCG(seed1, seed2))} //nolint:gosec // a seed on purpose: what was found can be found again
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

// makers has a function for each kind.
var makers = []struct {
	kind store.Kind
	make func(w Generator) metav1.Object
}{
	{store.GatewayClass, Generator.class},
	{store.Gateway, Generator.gateway},
	{store.ListenerSet, Generator.listenerSet},
	{store.HTTPRoute, Generator.httpRoute},
	{store.GRPCRoute, Generator.grpcRoute},
	{store.TLSRoute, Generator.tlsRoute},
	{store.TCPRoute, Generator.tcpRoute},
	{store.UDPRoute, Generator.udpRoute},
	{store.ReferenceGrant, Generator.grant},
	{store.Namespace, Generator.namespace},
	{store.Service, Generator.service},
	{store.Secret, Generator.secret},
	{store.BackendTLSPolicy, Generator.backendTLSPolicy},
	{store.ConfigMap, Generator.configMap},
	{store.ClusterTrustBundle, Generator.clusterTrustBundle},
	{store.EndpointSlice, Generator.slice},
	{store.Deployment, Generator.deployment},
	{store.DaemonSet, Generator.daemonSet},
	{store.ProxyConfig, Generator.proxyConfig},
	{store.CustomResourceDefinition, Generator.definition},
	{store.XBackendTrafficPolicy, Generator.backendTrafficPolicy},
	{store.XBackend, Generator.xbackend},
	{store.XTelemetryPolicy, Generator.telemetryPolicy},
	{store.ClientTrafficPolicy, Generator.clientTrafficPolicy},
	{store.HTTPRouteFilter, Generator.httpRouteFilter},
	{store.Backend, Generator.fixedBackend},
	{store.Extension, Generator.extension},
	{store.BackendTrafficPolicy, Generator.trafficPolicy},
	{store.SecurityPolicy, Generator.securityPolicy},
	{store.InferencePool, Generator.inferencePool},
	{store.InferencePoolImport, Generator.inferencePoolImport},
	{store.ServiceImport, Generator.serviceImport},
}

// Change creates, changes or deletes an object.
func (w Generator) Change() store.Change {
	m := makers[w.IntN(len(makers))]
	object := m.make(w)
	c := store.Change{Kind: m.kind, Key: store.KeyOf(object), Object: object}
	if w.IntN(4) == 0 {
		c.Object = nil
	}
	return c
}

func pick[T any](w Generator, list ...T) T { return list[w.IntN(len(list))] }

func (w Generator) coin() bool { return w.IntN(2) == 0 }

func (w Generator) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name), Generation: int64(w.IntN(3)),
		CreationTimestamp: metav1.NewTime(time.Unix(int64(1000+w.IntN(3)), 0)),
	}
}
