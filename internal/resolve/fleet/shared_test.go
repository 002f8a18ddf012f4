package fleet

import (
	"fmt"
	"maps"
	"strconv"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func tenants(ports ...string) map[string]Tenant {
	all := map[string]Tenant{}
	for i, port := range ports {
		all[fmt.Sprintf("n/g%d", i)] = Tenant{Class: "c", Ports: []TenantPort{{ID: port}}}
	}
	return all
}

func TestEveryPortHasASocketOfItsOwn(t *testing.T) {
	t.Parallel()
	all := map[string]Tenant{}
	for i := range 500 {
		all[fmt.Sprintf("n/g%d", i)] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}, {ID: "443"}, {ID: "53/udp"}}}
	}
	seen := map[int32]ir.PortID{}
	for key, socket := range AllocatePorts(all, allPorts) {
		if other, taken := seen[socket]; taken || socket < firstPort || socket > lastPort {
			t.Errorf("%s has %d, which %s has", key, socket, other)
		}
		seen[socket] = key
	}
	if len(seen) != 1500 {
		t.Errorf("%d of 1500 ports have a socket", len(seen))
	}
}

func TestWhatAServiceLeadsToStaysWhenOthersComeOrGo(t *testing.T) {
	t.Parallel()
	all := tenants("80", "80", "80")
	before := AllocatePorts(all, allPorts)
	for key, tenant := range all {
		tenant.Ports[0].TargetPort = before[ir.PortID{Gateway: key, Port: "80"}]
	}
	// A Gateway comes whose name would have had the first one's place, were it free.
	squatter := before[ir.PortID{Gateway: "n/g0", Port: "80"}]
	all["n/a"] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}}}
	all["n/b"] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80", TargetPort: squatter}}}
	delete(all, "n/g2")
	after := AllocatePorts(all, allPorts)
	if after[ir.PortID{Gateway: "n/g1", Port: "80"}] != before[ir.PortID{Gateway: "n/g1", Port: "80"}] {
		t.Errorf("g1 moved from %d to %d", before[ir.PortID{Gateway: "n/g1", Port: "80"}], after[ir.PortID{Gateway: "n/g1", Port: "80"}])
	}
	if after[ir.PortID{Gateway: "n/b", Port: "80"}] != squatter || after[ir.PortID{Gateway: "n/g0", Port: "80"}] == squatter {
		t.Errorf("two Services lead to %d: the first by name keeps it, the other moves: %v", squatter, after)
	}
}

func TestASocketOutsideTheRangeIsNotKept(t *testing.T) {
	t.Parallel()
	all := tenants("80")
	all["n/g0"].Ports[0].TargetPort = 80
	if got := AllocatePorts(all, allPorts)[ir.PortID{Gateway: "n/g0", Port: "80"}]; got < firstPort {
		t.Errorf("it has %d", got)
	}
}

func TestNoSocketIsLeft(t *testing.T) {
	t.Parallel()
	all := map[string]Tenant{}
	for i := range allPorts {
		all[fmt.Sprintf("n/g%d", i)] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}}}
	}
	full := AllocatePorts(all, allPorts)
	all["n/z"] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}}}
	over := AllocatePorts(all, allPorts)
	if _, given := over[ir.PortID{Gateway: "n/z", Port: "80"}]; given || len(full) != allPorts || !maps.Equal(full, over) {
		t.Errorf("%d have one, and then %d", len(full), len(over))
	}
}

func TestANamespaceHasNoMoreSocketsThanItsQuota(t *testing.T) {
	t.Parallel()
	const quota = 1024
	all := map[string]Tenant{"other/g": {Class: "c", Ports: []TenantPort{{ID: "80"}}}}
	for i := range 300 {
		gateway := Tenant{Class: "c"}
		for port := range 64 {
			gateway.Ports = append(gateway.Ports, TenantPort{ID: strconv.Itoa(8000 + port)})
		}
		all[fmt.Sprintf("greedy/g%d", i)] = gateway
	}
	given := AllocatePorts(all, quota)
	if len(given) != quota+1 || given[ir.PortID{Gateway: "other/g", Port: "80"}] == 0 {
		t.Errorf("%d ports have a socket, that of another namespace has %d", len(given), given[ir.PortID{Gateway: "other/g", Port: "80"}])
	}

	// What is bound stays, though the quota has become smaller, and nothing is added to it.
	for gateway, tenant := range all {
		for i := range tenant.Ports {
			tenant.Ports[i].TargetPort = given[ir.PortID{Gateway: gateway, Port: tenant.Ports[i].ID}]
		}
	}
	if after := AllocatePorts(all, 10); !maps.Equal(after, given) {
		t.Errorf("of %d bound ports %d have a socket", len(given), len(after))
	}
}
