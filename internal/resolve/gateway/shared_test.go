package gateway

import (
	"fmt"
	"maps"
	"strconv"
	"testing"
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
	seen := map[int32]string{}
	for key, socket := range Sockets(all, allSockets) {
		if other, taken := seen[socket]; taken || socket < firstSocket || socket > lastSocket {
			t.Errorf("%s has %d, which %q has", key, socket, other)
		}
		seen[socket] = key
	}
	if len(seen) != 1500 {
		t.Errorf("%d of 1500 ports have a socket", len(seen))
	}
}

func TestWhatAServiceLeadsToStaysWhoeverComesOrGoes(t *testing.T) {
	t.Parallel()
	all := tenants("80", "80", "80")
	before := Sockets(all, allSockets)
	for key, tenant := range all {
		tenant.Ports[0].Bound = before[key+"|80"]
	}
	// Somebody comes whose name would have had the first one's place, were it free.
	squatter := before["n/g0|80"]
	all["n/a"] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}}}
	all["n/b"] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80", Bound: squatter}}}
	delete(all, "n/g2")
	after := Sockets(all, allSockets)
	if after["n/g1|80"] != before["n/g1|80"] {
		t.Errorf("g1 moved from %d to %d", before["n/g1|80"], after["n/g1|80"])
	}
	if after["n/b|80"] != squatter || after["n/g0|80"] == squatter {
		t.Errorf("two Services lead to %d: the first by name keeps it, the other moves: %v", squatter, after)
	}
}

func TestASocketOutsideTheRangeIsNotKept(t *testing.T) {
	t.Parallel()
	all := tenants("80")
	all["n/g0"].Ports[0].Bound = 80
	if got := Sockets(all, allSockets)["n/g0|80"]; got < firstSocket {
		t.Errorf("it has %d", got)
	}
}

func TestNoSocketIsLeft(t *testing.T) {
	t.Parallel()
	all := map[string]Tenant{}
	for i := range allSockets {
		all[fmt.Sprintf("n/g%d", i)] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}}}
	}
	full := Sockets(all, allSockets)
	all["n/z"] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}}}
	over := Sockets(all, allSockets)
	if _, given := over["n/z|80"]; given || len(full) != allSockets || !maps.Equal(full, over) {
		t.Errorf("%d have one, and then %d", len(full), len(over))
	}
}

func TestANamespaceHasNoMoreSocketsThanItsQuota(t *testing.T) {
	t.Parallel()
	all := map[string]Tenant{"other/g": {Class: "c", Ports: []TenantPort{{ID: "80"}}}}
	for i := range 300 {
		gateway := Tenant{Class: "c"}
		for port := range 64 {
			gateway.Ports = append(gateway.Ports, TenantPort{ID: strconv.Itoa(8000 + port)})
		}
		all[fmt.Sprintf("greedy/g%d", i)] = gateway
	}
	given := Sockets(all, portsPerNamespace)
	if len(given) != portsPerNamespace+1 || given["other/g|80"] == 0 {
		t.Errorf("%d ports have a socket, that of another namespace has %d", len(given), given["other/g|80"])
	}

	// What is bound stays, though the quota has become smaller, and nothing is added to it.
	for gateway, tenant := range all {
		for i := range tenant.Ports {
			tenant.Ports[i].Bound = given[gateway+"|"+tenant.Ports[i].ID]
		}
	}
	if after := Sockets(all, 10); !maps.Equal(after, given) {
		t.Errorf("of %d bound ports %d have a socket", len(given), len(after))
	}
}
