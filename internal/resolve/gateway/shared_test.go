package gateway

import (
	"fmt"
	"maps"
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
	for key, socket := range Sockets(all) {
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
	before := Sockets(all)
	for key, tenant := range all {
		tenant.Ports[0].Bound = before[key+"|80"]
	}
	// Somebody comes whose name would have had the first one's place, were it free.
	squatter := before["n/g0|80"]
	all["n/a"] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}}}
	all["n/b"] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80", Bound: squatter}}}
	delete(all, "n/g2")
	after := Sockets(all)
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
	if got := Sockets(all)["n/g0|80"]; got < firstSocket {
		t.Errorf("it has %d", got)
	}
}

func TestNoSocketIsLeft(t *testing.T) {
	t.Parallel()
	all := map[string]Tenant{}
	for i := range lastSocket - firstSocket + 1 {
		all[fmt.Sprintf("n/g%d", i)] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}}}
	}
	full := Sockets(all)
	all["n/z"] = Tenant{Class: "c", Ports: []TenantPort{{ID: "80"}}}
	over := Sockets(all)
	if _, given := over["n/z|80"]; given || len(full) != lastSocket-firstSocket+1 || !maps.Equal(full, over) {
		t.Errorf("%d have one, and then %d", len(full), len(over))
	}
}
