//go:build fault

package fault

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// xdsCalls are those by which a proxy could be configured; internal/identity tries every call that there is.
var xdsCalls = []string{
	deltaCall,
	"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
	"/envoy.service.secret.v3.SecretDiscoveryService/FetchSecrets",
	"/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets",
	"/envoy.service.secret.v3.SecretDiscoveryService/DeltaSecrets",
	"/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters",
	"/envoy.service.listener.v3.ListenerDiscoveryService/FetchListeners",
	"/envoy.service.route.v3.RouteDiscoveryService/FetchRoutes",
	"/envoy.service.endpoint.v3.EndpointDiscoveryService/FetchEndpoints",
	"/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus",
}

const (
	clusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	secretType   = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
)

// TestCase36XDSWrongIdentities makes every call with every wrong identity, from inside the cluster and with real tokens: all are
// refused. The right one is let in, and sees nothing of another Gateway.
func TestCase36XDSWrongIdentities(t *testing.T) {
	t.Parallel()
	c := begin(t, "36", "every xDS call with every wrong identity")
	w := newFixture(t)
	w.secureGateway(t, "other")
	proxy, other := w.OneProxy(t, gatewayName), w.OneProxy(t, "other")
	controllers, err := w.Controllers(t.Context())
	if err != nil || len(controllers) == 0 {
		t.Fatalf("find the controller: %v", err)
	}
	// The token of a pod that is gone has a good signature and has not expired.
	gone, stranger := w.Echo(t, "gone", 1)[0], w.Echo(t, "stranger", 1)[0]
	late := w.token(t, &gone, xdsAudience, true)
	if err := w.Delete(t.Context(), &gone, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	node := func(id, gateway string) *corev3.Node {
		return &corev3.Node{Id: id, Cluster: w.Namespace + "/" + gateway}
	}
	right := []*corev3.Node{node(proxy.Name, gatewayName)}
	good, theirs := w.token(t, proxy, xdsAudience, true), w.token(t, other, xdsAudience, true)
	wrong := map[string]caller{
		"no token":                            {"", right},
		"a token with another signature":      {good[:len(good)-8] + "AAAAAAAA", right},
		"a token for the API server":          {w.token(t, proxy, "", true), right},
		"a token that any pod may use":        {w.token(t, proxy, xdsAudience, false), right},
		"the token of a pod that is gone":     {late, right},
		"a token of another ServiceAccount":   {w.token(t, &stranger, xdsAudience, true), right},
		"a token of another Gateway's proxy":  {theirs, right},
		"a token of the control plane":        {w.token(t, &controllers[0], xdsAudience, true), right},
		"the node of another pod":             {good, []*corev3.Node{node("other", gatewayName)}},
		"the node of another Gateway":         {good, []*corev3.Node{node(proxy.Name, "other")}},
		"a node that changes on the stream":   {good, []*corev3.Node{right[0], node(proxy.Name, "other")}},
		"a node that changes to another's id": {good, []*corev3.Node{right[0], node(other.Name, gatewayName)}},
	}
	refused, answered := 0, 0
	for name, who := range wrong {
		for _, call := range xdsCalls {
			// The control plane closes the connection of one that it refused a stream, so each has its own.
			answers, err := who.ask(t.Context(), w.dial(t), call, clusterType)
			for range 5 {
				// The API server was too slow to review the token.
				if status.Code(err) != codes.Unavailable {
					break
				}
				answers, err = who.ask(t.Context(), w.dial(t), call, clusterType)
			}
			switch code := status.Code(err); {
			case code == codes.Unauthenticated, code == codes.PermissionDenied, code == codes.Unimplemented && call != deltaCall:
				refused++
			default:
				answered++
				t.Errorf("%s by a client with %s: %d answers, %v", call, name, len(answers), err)
			}
			if len(answers) > 0 && len(answers) != len(who.nodes)-1 {
				t.Errorf("%s by a client with %s was answered", call, name)
			}
		}
	}
	c.note("%d calls refused", refused)
	c.none(answered, "answered")
	c.none(w.leaks(t, caller{good, right}, caller{theirs, []*corev3.Node{node(other.Name, "other")}}), "resources of another Gateway")
	c.none(keysIn(t, other), "private keys and tokens in a proxy's dump")
}

// keysIn counts what should be in no dump of a proxy's configuration.
func keysIn(t *testing.T, proxy *corev1.Pod) int {
	t.Helper()
	body := admin(t, proxy, "/config_dump?include_eds")
	defer func() { _ = body.Close() }()
	dump, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("read the configuration of %s: %v", proxy.Name, err)
	}
	token, err := os.ReadFile(fmt.Sprintf("/proc/%d/root%s/token", process(t, proxy), tokenDirectory))
	if err != nil || len(token) == 0 {
		t.Fatalf("read the token of %s: %v", proxy.Name, err)
	}
	if !bytes.Contains(dump, []byte("[redacted]")) {
		t.Errorf("the dump of %s has no place for a key", proxy.Name)
	}
	found := 0
	for _, secret := range []string{"PRIVATE KEY", base64.StdEncoding.EncodeToString([]byte("-----BEGIN PRIVATE KEY"))[:24], string(token)} {
		found += bytes.Count(dump, []byte(secret))
	}
	return found
}

// leaks has a proxy ask for everything by the names that another Gateway's proxy knows, and counts what it is given of that.
func (w *fixture) leaks(t *testing.T, proxy, other caller) int {
	t.Helper()
	connection := w.dial(t)
	leaks := 0
	for typeURL, wanted := range map[string][]string{
		clusterType: {"*"}, listenerType: {"*"}, secretType: {w.Namespace + "/other-certificate"},
	} {
		theirs, err := other.ask(t.Context(), connection, deltaCall, typeURL, wanted...)
		if err != nil {
			t.Fatalf("the other Gateway's proxy asks for %s: %v", typeURL, err)
		}
		var names []string
		for _, resource := range theirs[0].GetResources() {
			names = append(names, resource.GetName())
		}
		if typeURL != clusterType && len(names) == 0 {
			t.Errorf("the other Gateway's proxy has no %s", typeURL)
		}
		mine, err := proxy.ask(t.Context(), connection, deltaCall, typeURL, append(names, wanted...)...)
		if err != nil {
			t.Fatalf("the proxy asks for %s: %v", typeURL, err)
		}
		for _, resource := range mine[0].GetResources() {
			for _, name := range names {
				if resource.GetName() == name && typeURL != clusterType {
					leaks++
					t.Errorf("the proxy was given %s %s of another Gateway", typeURL, name)
				}
			}
		}
	}
	return leaks
}

// secureGateway makes a Gateway with a certificate of its own.
func (w *fixture) secureGateway(t *testing.T, name string) {
	t.Helper()
	w.Make(t, live.TLSSecret(t, name+"-certificate", "secret.example.com"))
	w.Programmed(t, &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gwv1.GatewaySpec{GatewayClassName: live.GatewayClass, Listeners: []gwv1.Listener{{
			Name: "https", Port: 443, Protocol: gwv1.HTTPSProtocolType,
			TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: gwv1.ObjectName(name + "-certificate")}}},
		}}},
	})
}
