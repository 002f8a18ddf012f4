//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/gatewright/gatewright/test/live"
)

// TestAnyDefinitions changes which definitions of the Gateway API the cluster has: the control plane goes on with what is there, says what
// is not, and restarts in every situation. It is not parallel, because every other test needs the definitions.
//
//nolint:paralleltest // see above
func TestAnyDefinitions(t *testing.T) {
	w := newFixture(t)
	w.restoreDefinitions(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	address := w.Gateway(t, "gateway")
	w.Route(t, "plain", "gateway", "plain.example.com", "echo")
	w.WaitServed(t, address, "plain.example.com")

	t.Run("experimental", func(t *testing.T) {
		// Only a change is announced, and one that is undone within seconds is not. No other test leaves this state behind, so it is always
		// a change, and nothing waits to be announced after its event.
		since := time.Now()
		w.install(t, consts.BundleVersion, "standard", "grpcroutes."+gwv1.GroupName)
		w.classSays(t, since, metav1.ConditionFalse, "standard channel", "not served by the cluster: GRPCRoute;")
		since = time.Now()
		w.install(t, consts.BundleVersion, "experimental")
		w.classSays(t, since, metav1.ConditionTrue, consts.BundleVersion, "experimental channel")
	})
	t.Run("standard only", func(t *testing.T) {
		since := time.Now()
		w.install(t, consts.BundleVersion, "standard")
		w.classSays(t, since, metav1.ConditionTrue, consts.BundleVersion, "standard channel")
		w.checkRestart(t)
		w.WaitServed(t, address, "plain.example.com")
	})
	t.Run("an older minor", func(t *testing.T) {
		since := time.Now()
		w.install(t, olderBundle, "standard")
		w.classSays(t, since, metav1.ConditionFalse, olderBundle, "ReferenceGrant as v1beta1", "not served by the cluster: ListenerSet, TLSRoute")
		w.checkRestart(t)
		w.checkOlderGrant(t, address)
	})
	t.Run("a kind is missing at the start and appears later", func(t *testing.T) {
		since := time.Now()
		w.install(t, consts.BundleVersion, "standard", "grpcroutes."+gwv1.GroupName)
		w.classSays(t, since, metav1.ConditionFalse, "not served by the cluster: GRPCRoute;")
		w.checkRestart(t)
		w.WaitServed(t, address, "plain.example.com")
		names := w.controllerNames(t)

		since = time.Now()
		w.install(t, consts.BundleVersion, "standard")
		took := w.checkGRPC(t, address)
		t.Logf("a gRPC route was served %s after it was created", took.Round(time.Millisecond))
		if took > 10*time.Second {
			t.Error("that is too late")
		}
		w.classSays(t, since, metav1.ConditionTrue, consts.BundleVersion)
		w.sameControllers(t, names)
	})
}

// checkRestart says how long a restart takes with the definitions that are there.
func (w *fixture) checkRestart(t *testing.T) {
	t.Helper()
	took := w.RestartControllers(t)
	t.Logf("the controllers were ready %s after the restart", took.Round(time.Millisecond))
	if took > 30*time.Second {
		t.Error("that is too late")
	}
	w.sameControllers(t, nil)
}

// checkOlderGrant routes into another namespace, which takes a grant, and the cluster has grants of an older version only.
func (w *fixture) checkOlderGrant(t *testing.T, address string) {
	t.Helper()
	other := newFixture(t)
	other.Echo(t, "echo", 1)
	other.EchoService(t, "echo")
	other.Make(t, &gwv1beta1.ReferenceGrant{
		ObjectMeta: metav1.ObjectMeta{Name: "grant"},
		Spec: gwv1.ReferenceGrantSpec{
			From: []gwv1.ReferenceGrantFrom{{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: gwv1.Namespace(w.Namespace)}},
			To:   []gwv1.ReferenceGrantTo{{Kind: "Service"}},
		},
	})
	route := live.HTTPRoute("granted", "gateway", "granted.example.com", "echo")
	route.Spec.Rules[0].BackendRefs[0].Namespace = new(gwv1.Namespace(other.Namespace))
	w.Make(t, route)
	w.WaitServed(t, address, "granted.example.com")
}

// checkGRPC says how long it takes until a new GRPCRoute is served.
func (w *fixture) checkGRPC(t *testing.T, address string) time.Duration {
	t.Helper()
	w.Echo(t, "grpc-echo", 1, corev1.EnvVar{Name: "GRPC_ECHO_SERVER", Value: "1"})
	w.Make(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "grpc-echo"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "grpc-echo"},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(live.EchoPort), AppProtocol: new("kubernetes.io/h2c")}},
		},
	})
	w.Make(t, &gwv1.GRPCRoute{
		ObjectMeta: metav1.ObjectMeta{Name: "grpc"},
		Spec: gwv1.GRPCRouteSpec{
			CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: "gateway"}}},
			Hostnames:       []gwv1.Hostname{"grpc.example.com"},
			Rules: []gwv1.GRPCRouteRule{{BackendRefs: []gwv1.GRPCBackendRef{{BackendRef: gwv1.BackendRef{
				BackendObjectReference: gwv1.BackendObjectReference{Name: "grpc-echo", Port: new(gwv1.PortNumber(80))},
			}}}}},
		},
	})
	connection, err := grpc.NewClient(
		live.Host(address)+":80", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("grpc.example.com"),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	return live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		// The request has no fields, and those of the answer do not matter.
		err := connection.Invoke(ctx, "/gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/Echo", &emptypb.Empty{}, &emptypb.Empty{})
		if err != nil {
			return fmt.Errorf("gRPC echo: %w", err)
		}
		return nil
	})
}
