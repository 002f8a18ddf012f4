//go:build fault

package fault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/live"
)

// How the control plane is found and known, and what tokens for it are made for.
const (
	xdsService  = "gatewright-xds"
	xdsName     = xdsService + "." + live.ControllerNamespace + ".svc"
	xdsAudience = "gatewright.dev/xds"
	xdsSecret   = "gatewright-xds-ca"

	deltaCall = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
)

// token asks the API server for a token of the ServiceAccount that a pod runs under, bound to the pod if it should be.
func (w *fixture) token(t *testing.T, pod *corev1.Pod, audience string, bound bool) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(600))}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	if bound {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	}
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = pod.Namespace, pod.Spec.ServiceAccountName
	if err := w.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatalf("request a token of %s/%s: %v", account.Namespace, account.Name, err)
	}
	return request.Status.Token
}

// authority is the Secret that the control plane keeps its certificate authority in.
func (w *fixture) authority(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: live.ControllerNamespace, Name: xdsSecret}, secret); err != nil {
		t.Fatalf("get the certificate authority: %v", err)
	}
	return secret
}

// trust is how a client that knows the authority connects to the control plane.
func (w *fixture) trust(t *testing.T) (address string, config *tls.Config) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.authority(t).Data["ca.crt"])
	service := &corev1.Service{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: live.ControllerNamespace, Name: xdsService}, service); err != nil {
		t.Fatalf("find the control plane: %v", err)
	}
	return net.JoinHostPort(service.Spec.ClusterIP, fmt.Sprint(service.Spec.Ports[0].Port)),
		&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: xdsName, NextProtos: []string{"h2"}}
}

// dial connects to the control plane as every pod of the cluster can.
func (w *fixture) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	address, config := w.trust(t)
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// caller is a client of the xDS server and what it says of itself.
type caller struct {
	token string
	// nodes has one for each request.
	nodes []*corev3.Node
}

// askClusters does what a proxy does first: it is sent no listener before it has clusters.
func askClusters(stream grpc.ClientStream, node *corev3.Node) error {
	answer := &discoveryv3.DeltaDiscoveryResponse{}
	if err := stream.SendMsg(&discoveryv3.DeltaDiscoveryRequest{Node: node, TypeUrl: clusterType}); err != nil {
		return fmt.Errorf("ask for clusters: %w", err)
	}
	if err := stream.RecvMsg(answer); err != nil {
		return err //nolint:wrapcheck // its code is looked at
	}
	if err := stream.SendMsg(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterType, ResponseNonce: answer.GetNonce()}); err != nil {
		return fmt.Errorf("acknowledge clusters: %w", err)
	}
	return nil
}

// ask makes a call and sends a request for each node, each when the one before was answered. It gives the answers and how the call ended.
func (c caller) ask(ctx context.Context, connection *grpc.ClientConn, call, typeURL string, names ...string) (
	[]*discoveryv3.DeltaDiscoveryResponse, error,
) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if c.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.token)
	}
	stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, call)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	var answers []*discoveryv3.DeltaDiscoveryResponse
	if typeURL == listenerType {
		if err := askClusters(stream, c.nodes[0]); err != nil {
			return nil, err
		}
	}
	for _, node := range c.nodes {
		var request proto.Message = &emptypb.Empty{}
		if call == deltaCall {
			request = &discoveryv3.DeltaDiscoveryRequest{Node: node, TypeUrl: typeURL, ResourceNamesSubscribe: names}
		}
		if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
			return answers, fmt.Errorf("send: %w", err)
		}
		if call != deltaCall {
			_ = stream.CloseSend() // some take one request only
		}
		answer := &discoveryv3.DeltaDiscoveryResponse{}
		if err := stream.RecvMsg(answer); err != nil {
			return answers, err //nolint:wrapcheck // its code is looked at
		}
		answers = append(answers, answer)
	}
	return answers, nil
}
