package main

import (
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAddressPool(t *testing.T) {
	t.Parallel()
	prefix := netip.MustParsePrefix("198.18.200.0/29") // .1 to .6 can be given

	t.Run("an owner keeps its address", func(t *testing.T) {
		t.Parallel()
		pool := newAddressPool(prefix)
		if first, second := mustAllocate(t, pool, "a", ""), mustAllocate(t, pool, "a", ""); first != second {
			t.Errorf("got %s, then %s", first, second)
		}
	})
	t.Run("an assignment from before a restart is kept and not given twice", func(t *testing.T) {
		t.Parallel()
		pool := newAddressPool(prefix)
		pool.adopt("old", netip.MustParseAddr("198.18.200.1"))
		if got := mustAllocate(t, pool, "new", ""); got != "198.18.200.2" {
			t.Errorf("new owner got %s", got)
		}
		if got := mustAllocate(t, pool, "old", ""); got != "198.18.200.1" {
			t.Errorf("old owner got %s", got)
		}
	})
	t.Run("a wanted address in range is honoured, another is not", func(t *testing.T) {
		t.Parallel()
		pool := newAddressPool(prefix)
		if got := mustAllocate(t, pool, "a", "198.18.200.5"); got != "198.18.200.5" {
			t.Errorf("wanted .5, got %s", got)
		}
		if got := mustAllocate(t, pool, "b", "192.0.2.1"); got != "198.18.200.1" {
			t.Errorf("wanted what is out of range, got %s", got)
		}
		if _, err := pool.allocate("c", "198.18.200.5"); err == nil {
			t.Error("an address was given twice")
		}
	})
	t.Run("what is kept for requests is given to no other Service", func(t *testing.T) {
		t.Parallel()
		pool := newAddressPool(prefix)
		pool.onRequest = netip.MustParsePrefix("198.18.200.4/30")
		for _, owner := range []string{"a", "b", "c"} {
			mustAllocate(t, pool, owner, "")
		}
		if got, err := pool.allocate("d", ""); err == nil {
			t.Errorf("got %s", got)
		}
		if got := mustAllocate(t, pool, "d", "198.18.200.5"); got != "198.18.200.5" {
			t.Errorf("wanted .5, got %s", got)
		}
	})
	t.Run("a full range refuses until an address is freed", func(t *testing.T) {
		t.Parallel()
		pool := newAddressPool(prefix)
		for _, owner := range []string{"a", "b", "c", "d", "e", "f"} {
			mustAllocate(t, pool, owner, "")
		}
		if got, err := pool.allocate("g", ""); err == nil {
			t.Errorf("got %s from a full range", got)
		}
		pool.release("c")
		if got := mustAllocate(t, pool, "g", ""); got != "198.18.200.3" {
			t.Errorf("got %s", got)
		}
	})
}

func mustAllocate(t *testing.T, pool *addressPool, owner, wanted string) string {
	t.Helper()
	address, err := pool.allocate(owner, wanted)
	if err != nil {
		t.Fatal(err)
	}
	return address.String()
}

func TestAddressPools(t *testing.T) {
	t.Parallel()
	four, six := corev1.IPv4Protocol, corev1.IPv6Protocol
	allocate := func(pools addressPools, owner, wanted string, families ...corev1.IPFamily) string {
		got, err := pools.allocate(owner, wanted, families)
		return fmt.Sprint(got, err)
	}
	t.Run("a Service has an address of each of its families, in their order", func(t *testing.T) {
		t.Parallel()
		pools := newAddressPools()
		if got := allocate(pools, "a", "", six, four); got != "[2001:2:0:c8::1 198.18.200.1] <nil>" {
			t.Error(got)
		}
		if got := allocate(pools, "b", "", six); got != "[2001:2:0:c8::2] <nil>" {
			t.Error(got)
		}
	})
	t.Run("a family that a Service no longer has is free again", func(t *testing.T) {
		t.Parallel()
		pools := newAddressPools()
		_, _ = allocate(pools, "a", "", four, six), allocate(pools, "a", "", four)
		if owner := pools[six].owners[netip.MustParseAddr("2001:2:0:c8::1")]; owner != "" {
			t.Errorf("%s still has it", owner)
		}
	})
	t.Run("an address that is asked for has its family", func(t *testing.T) {
		t.Parallel()
		if got := allocate(newAddressPools(), "a", "2001:2:0:c8::fa", four, six); got != "[198.18.200.1 2001:2:0:c8::fa] <nil>" {
			t.Error(got)
		}
	})
	t.Run("what was given before a restart is kept", func(t *testing.T) {
		t.Parallel()
		pools := newAddressPools()
		pools.adopt("old", []netip.Addr{netip.MustParseAddr("198.18.200.7"), netip.MustParseAddr("2001:2:0:c8::7")})
		if got := allocate(pools, "old", "", four, six); got != "[198.18.200.7 2001:2:0:c8::7] <nil>" {
			t.Error(got)
		}
	})
}
