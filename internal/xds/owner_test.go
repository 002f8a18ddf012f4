package xds_test

import (
	"context"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/xds"
)

// owned takes the name of a pod for its owner too. Before it answers, it waits for what it is told to.
type owned struct{ wait chan struct{} }

func (o owned) Authenticate(ctx context.Context, token string) (xds.Proof, error) {
	proof, err := anyGateway{}.Authenticate(ctx, token)
	proof.Owner = proof.Pod
	if o.wait != nil {
		<-o.wait
	}
	return proof, err
}

// ends expects the stream to end because the group has another owner, with nothing sent before.
func (p *proxy) ends() {
	p.t.Helper()
	synctest.Wait()
	response, more := <-p.responses
	if more {
		p.t.Fatalf("unexpected response: %v", response)
	}
	if status.Code(p.ended) != codes.PermissionDenied {
		p.t.Errorf("the stream ended with %v, want PermissionDenied", p.ended)
	}
}

func TestTheStreamsOfAnEarlierOwnerEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{authenticator: owned{}})
		c.cache.Own(group, "first")
		c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": assignment(t, "eds/c1", 1)})
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", ""), secret(t, group, "s1", "")})
		neighbours := c.open(groupA, "first").reading()
		neighbours.subscribe(clusterURL)
		neighbours.expect(clusterURL, nil, nil)
		p, silent := c.connectAs("first"), c.connectAs("first")
		for _, proxy := range []*proxy{p, silent} {
			proxy.subscribe(clusterURL)
			proxy.expect(clusterURL, []string{"c1"}, nil)
			proxy.subscribe(endpointURL, "eds/c1")
			proxy.expect(endpointURL, []string{"eds/c1"}, nil)
			proxy.subscribe(secretURL, "s1", "s2")
			proxy.expect(secretURL, []string{"s1"}, []string{"s2"})
		}
		c.cache.Own(group, "first")
		c.cache.Own(group, "")
		c.cache.Own(group, "first")
		p.hearsNothing()

		c.cache.Own(group, "second")
		// What the proxy asks now has come in before it learns that its stream is over.
		_ = p.stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: secretURL, ResourceNamesSubscribe: []string{"s3"}})
		c.cache.Apply([]xds.Change{
			cluster(t, group, "c2", ""), secret(t, group, "s1", "new"), secret(t, group, "s2", "new"), secret(t, group, "s3", "new"),
		})
		c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": assignment(t, "eds/c1", 2)})
		p.ends()
		silent.ends()
		c.connectAs("first").ends()
		if followed := c.cache.Followed(); len(followed) > 0 {
			t.Errorf("streams that are over follow %v", followed)
		}

		next := c.connectAs("second")
		next.subscribe(clusterURL)
		next.expect(clusterURL, []string{"c1", "c2"}, nil)
		neighbours.hearsNothing()
	})
}

func TestAProxyThatWasLetInBeforeItsGatewayWasMadeAgainOpensNoStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wait := make(chan struct{})
		c := start(t, options{authenticator: owned{wait}})
		c.cache.Own(group, "first")
		late := c.connectAs("first")
		synctest.Wait()
		c.cache.Own(group, "second") // which has no resources yet
		close(wait)
		late.ends()
	})
}

func TestAGroupOfNoGatewayHasNoOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{authenticator: owned{}})
		for _, name := range []string{"one", "another"} {
			p := c.connectAs(name)
			p.subscribe(clusterURL)
			p.expect(clusterURL, nil, nil)
		}
		c.cache.Own(groupA, "first")
		c.cache.Own(groupA, "")
		if groups := c.cache.Groups(); groups != 1 {
			t.Errorf("%d groups are kept, want the one with streams", groups)
		}
	})
}
