package gateway

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/fleet"
)

func TestOpenOnNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		off       bool
		listeners []Listener
		opened    []string
		problem   string
	}{
		{name: "not asked for", off: true, listeners: []Listener{{Name: "ssh", Port: 22, Protocol: ir.TCP, Attachable: true}}},
		{name: "its own listeners", listeners: []Listener{
			{Name: "web", Port: 80, Protocol: ir.HTTP, Attachable: true}, {Name: "dns", Port: 53, Protocol: ir.UDP, Attachable: true},
		}, opened: []string{"53/udp", "80"}},
		{name: "a ListenerSet of a tenant", listeners: []Listener{
			{Name: "web", Port: 80, Protocol: ir.HTTP, Attachable: true},
			{ID: "b/set/mine", Name: "mine", Set: "b/set", Port: 8080, Protocol: ir.HTTP, Attachable: true},
			{ID: "b/set/same", Name: "same", Set: "b/set", Port: 80, Protocol: ir.HTTP, Hostname: "a.example", Attachable: true},
			{ID: "b/set/api", Name: "api", Set: "b/set", Port: 6443, Protocol: ir.TCP, Attachable: true},
		}, opened: []string{"80"}},
		{name: "a listener that is not open", listeners: []Listener{
			{Name: "web", Port: 80, Protocol: ir.HTTP, Attachable: true}, {Name: "lost", Port: 22, Protocol: ir.HTTP},
		}, opened: []string{"80"}},
		{
			name: "SSH", listeners: []Listener{{Name: "ssh", Port: 22, Protocol: ir.TCP, Attachable: true}}, opened: []string{"22"},
			problem: "listener ssh has port 22",
		},
		{
			name: "etcd", listeners: []Listener{{Name: "l", Port: 2380, Protocol: ir.TCP, Attachable: true}}, opened: []string{"2380"},
			problem: "port 2380",
		},
		{
			name: "the kubelet", listeners: []Listener{{Name: "l", Port: 10250, Protocol: ir.TCP, Attachable: true}}, opened: []string{"10250"},
			problem: "port 10250",
		},
		{
			name: "a NodePort", listeners: []Listener{{Name: "l", Port: 30000, Protocol: ir.UDP, Attachable: true}},
			opened: []string{"30000/udp"}, problem: "port 30000",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gateway := ir.Gateway{Ports: ports(c.listeners, 0)}
			gateway.Fleet.Proxies.Pod.HostPorts = !c.off
			problem := fleet.OpenOnNodes(&gateway, ownPorts(c.listeners))
			if (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
				t.Errorf("got %q, want %q", problem, c.problem)
			}
			var opened []string
			for _, port := range gateway.Ports {
				if port.OnNodes {
					opened = append(opened, port.ID())
				}
			}
			if slices.Sort(opened); !slices.Equal(opened, c.opened) {
				t.Errorf("opened %q, want %q", opened, c.opened)
			}
		})
	}
}
