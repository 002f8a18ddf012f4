package xds_test

import (
	"testing"
	"testing/synctest"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
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
