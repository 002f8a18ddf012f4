package endpoints

import (
	"fmt"
	"slices"
	"testing"
)

func TestABackendHasRoomForSoManyEndpoints(t *testing.T) {
	t.Parallel()
	var all []target
	for i := range 3000 {
		all = append(all, target{socket: socket{address: fmt.Sprintf("10.0.%d.%d", i/250, i%250), port: 80}, zone: string(rune('a' + i/1000))})
	}
	if got := within(all, 3000); len(got) != 3000 {
		t.Errorf("within the limit there are %d", len(got))
	}
	kept := within(all, 600)
	if len(kept) != 600 {
		t.Fatalf("beyond the limit there are %d", len(kept))
	}
	zones := map[string]int{}
	for i, k := range kept {
		zones[k.zone]++
		if i > 0 && kept[i-1].zone > k.zone {
			t.Fatal("they are no longer sorted by zone")
		}
	}
	for zone, n := range zones {
		if n < 100 || n > 300 {
			t.Errorf("zone %s has %d of 600", zone, n)
		}
	}
	fewer := within(slices.Delete(slices.Clone(all), 1500, 1501), 600)
	gone := 0
	for _, k := range kept {
		if !slices.Contains(fewer, k) {
			gone++
		}
	}
	if gone > 1 {
		t.Errorf("with one endpoint less, %d others are gone", gone)
	}
}
