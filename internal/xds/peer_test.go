package xds_test

import (
	"testing"
	"testing/synctest"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestAPeerSeesWhatIsForPeersAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		request *discoveryv3.DeltaDiscoveryRequest
		want    codes.Code
	}{
		{"what is for peers", &discoveryv3.DeltaDiscoveryRequest{TypeUrl: peerURL, Node: &corev3.Node{Id: pod}}, codes.OK},
		{"what is for proxies", &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, Node: &corev3.Node{Id: pod}}, codes.PermissionDenied},
		{"as another pod", &discoveryv3.DeltaDiscoveryRequest{TypeUrl: peerURL, Node: &corev3.Node{Id: "pod-2"}}, codes.PermissionDenied},
		{
			"as a proxy", &discoveryv3.DeltaDiscoveryRequest{TypeUrl: peerURL, Node: &corev3.Node{Id: pod, Cluster: group.String()}},
			codes.PermissionDenied,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := start(t, options{}).connectWithoutReading(xds.GroupID{}) // no Gateway: a peer
				p.send(tt.request)
				if _, err := p.stream.Recv(); status.Code(err) != tt.want {
					t.Errorf("got %v, want %s", err, tt.want)
				}
			})
		})
	}
}

// TestAProxySeesNothingThatIsForPeers has a proxy ask for what replicas tell each other. They hand secrets of routes to each other.
func TestAProxySeesNothingThatIsForPeers(t *testing.T) {
	t.Parallel()
	for name, names := range map[string][]string{"all of it": nil, "by a wildcard": {"*"}, "by its name": {"quarantine|HTTPRoute/a/b@a/web"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := start(t, options{prepare: func(s *xds.Server) {
					offers := cachev3.NewLinearCache(peerURL)
					if err := offers.UpdateResource("quarantine|HTTPRoute/a/b@a/web", &statusv3.ClientConfig{}); err != nil {
						t.Error(err)
					}
					s.ServePeers(offers, peerURL)
				}}).connectWithoutReading(group)
				p.send(&discoveryv3.DeltaDiscoveryRequest{
					TypeUrl: peerURL, Node: &corev3.Node{Id: pod, Cluster: group.String()}, ResourceNamesSubscribe: names,
				})
				if response, err := p.stream.Recv(); status.Code(err) != codes.InvalidArgument {
					t.Errorf("got %v, %v", response, err)
				}
			})
		})
	}
}
