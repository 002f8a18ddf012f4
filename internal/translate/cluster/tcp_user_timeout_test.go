package cluster_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestTCPUserTimeout(t *testing.T) {
	t.Parallel()
	tls := &ir.BackendTLS{ServerName: "cart.example.com"}
	for _, c := range []struct {
		name     string
		protocol ir.BackendProtocol
		options  cluster.Options
		connect  time.Duration
		timeout  int64
		probed   uint32
	}{
		{"HTTP/1.1", ir.BackendHTTP1, cluster.Options{}, 2 * time.Second, 46_000, 30},
		{"HTTP/2 has all requests on one connection", ir.BackendHTTP2, cluster.Options{}, 2 * time.Second, 1_500, 300},
		{"connections that are passed on", ir.BackendTCP, cluster.Options{}, 2 * time.Second, 46_000, 30},
		{
			"the handshake with TLS has more time", ir.BackendHTTP2,
			cluster.Options{Policy: &ir.DestinationPolicy{TLS: tls}},
			5 * time.Second,
			1_500, 300,
		},
		{"a name outside the cluster has more time", ir.BackendHTTP2, cluster.Options{Hostname: "api.example.com"}, 5 * time.Second, 46_000, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := cluster.Cluster(ir.Backend{Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 80, Protocol: c.protocol}, c.options)
			prototest.Valid(t, got)
			if timeout := got.GetConnectTimeout().AsDuration(); timeout != c.connect {
				t.Errorf("connections have %s to come about", timeout)
			}
			options := got.GetUpstreamBindConfig().GetSocketOptions()
			if len(options) != 1 || options[0].GetLevel() != 6 || options[0].GetName() != 18 || options[0].GetIntValue() != c.timeout {
				t.Errorf("socket options: %v", options)
			}
			if got.GetUpstreamBindConfig().GetSourceAddress() != nil {
				t.Error("the source address is set, so that only one family can be reached")
			}
			keepalive := got.GetUpstreamConnectionOptions().GetTcpKeepalive()
			if keepalive.GetKeepaliveTime().GetValue() != c.probed {
				t.Errorf("idle connections are probed by %v", keepalive)
			}
			// Linux resets an idle connection when a probe is due, the timeout has passed and the probe before was not answered.
			three := int64(keepalive.GetKeepaliveTime().GetValue()+3*keepalive.GetKeepaliveInterval().GetValue()) * 1000
			if c.timeout > 2_000 && c.timeout <= three {
				t.Errorf("an idle connection is reset within %d ms, before three probes are lost", three)
			}
		})
	}
	t.Run("UDP has no connections", func(t *testing.T) {
		t.Parallel()
		got := cluster.Cluster(ir.Backend{Object: ir.Name{Namespace: "shop", Name: "dns"}, Port: 53, Protocol: ir.BackendUDP}, cluster.Options{})
		if got.GetUpstreamBindConfig() != nil || got.GetOutlierDetection() != nil || got.GetUpstreamConnectionOptions() != nil {
			t.Errorf("cluster: %v", got)
		}
	})
}

func TestOutlierDetection(t *testing.T) {
	t.Parallel()
	c := cluster.Cluster(ir.Backend{Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 80, Protocol: ir.BackendHTTP1}, cluster.Options{})
	got := c.GetOutlierDetection()
	for what, share := range map[string]*wrapperspb.UInt32Value{
		"5xx": got.GetEnforcingConsecutive_5Xx(), "rate": got.GetEnforcingSuccessRate(), "local rate": got.GetEnforcingLocalOriginSuccessRate(),
	} {
		// Envoy's own value is 100.
		if !got.GetSplitExternalLocalOriginErrors() || share == nil || share.GetValue() != 0 {
			t.Errorf("answers of a backend can eject it, by %s: %v", what, got)
		}
	}
	// Envoy ejects if 100 * (ejected + 1) / endpoints is at most this.
	if most := got.GetMaxEjectionPercent().GetValue(); most != 50 || got.GetAlwaysEjectOneHost().GetValue() {
		t.Errorf("%d%% can be ejected, so that the only endpoint can be, or one of two cannot", most)
	}
	if threshold := c.GetCommonLbConfig().GetHealthyPanicThreshold().GetValue(); threshold != 1 {
		t.Errorf("the panic threshold is %v: when only ejected endpoints are left, they are not asked", threshold)
	}
}
