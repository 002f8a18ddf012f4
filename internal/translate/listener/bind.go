package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// Bind has a listener of [Listener] bind its port in the families that the pods of the cluster have, and in no other: an address of a
// family that the kernel of a node does not have makes Envoy refuse the whole listener.
func Bind(l *listenerv3.Listener, families ir.Families) *listenerv3.Listener {
	first := l.GetAddress()
	l.AdditionalAddresses = nil
	for i, address := range families.Any() {
		bound, _ := proto.Clone(first).(*corev3.Address)
		bound.GetSocketAddress().Address = address
		if i == 0 {
			l.Address = bound
			continue
		}
		l.AdditionalAddresses = append(l.AdditionalAddresses, &listenerv3.AdditionalAddress{Address: bound})
	}
	return l
}
