package listener_test

import (
	"fmt"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/listener"
)

func TestBind(t *testing.T) {
	t.Parallel()
	tcp, udp := ir.Port{Number: 80, Protocol: ir.HTTP}, ir.Port{Number: 53, Protocol: ir.UDP}
	for _, c := range []struct {
		name     string
		families ir.Families
		port     ir.Port
		want     []string
	}{
		{"IPv4", ir.Families{ir.IPv4}, tcp, []string{"TCP 0.0.0.0"}},
		{"IPv6", ir.Families{ir.IPv6}, tcp, []string{"TCP ::"}},
		{"both families, whichever is preferred", ir.Families{ir.IPv6, ir.IPv4}, tcp, []string{"TCP 0.0.0.0", "TCP ::"}},
		{"datagrams in both families", ir.Families{ir.IPv4, ir.IPv6}, udp, []string{"UDP 0.0.0.0", "UDP ::"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := listener.Bind(listener.Listener(edge, c.port, nil), c.families)
			var got []string
			for _, address := range bound(l) {
				if address.GetPortValue() != uint32(c.port.Socket()) { //nolint:gosec // a port number
					t.Errorf("port %d", address.GetPortValue())
				}
				if address.GetIpv4Compat() {
					t.Errorf("%s is bound for IPv4 too", address.GetAddress())
				}
				got = append(got, fmt.Sprintf("%s %s", address.GetProtocol(), address.GetAddress()))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("binds %v, want %v", got, c.want)
			}
			if err := l.ValidateAll(); err != nil {
				t.Error(err)
			}
		})
	}
	if plainly := listener.Listener(edge, tcp, nil); !proto.Equal(plainly, listener.Bind(listener.Listener(edge, tcp, nil), nil)) {
		t.Error("a cluster of which nothing is known has other listeners than before")
	}
}

// bound are the addresses of a listener.
func bound(l *listenerv3.Listener) []*corev3.SocketAddress {
	all := []*corev3.SocketAddress{l.GetAddress().GetSocketAddress()}
	for _, more := range l.GetAdditionalAddresses() {
		all = append(all, more.GetAddress().GetSocketAddress())
	}
	return all
}
