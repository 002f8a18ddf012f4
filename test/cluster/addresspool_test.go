package main

import (
	"net/netip"
	"testing"
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
	t.Run("what is kept for requests is given to nobody else", func(t *testing.T) {
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
