package peers

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestTheServerIsBounded(t *testing.T) {
	t.Parallel()
	t.Run("by the bytes of a proxy's nacks", func(t *testing.T) {
		t.Parallel()
		b, proxy := NewServer(slog.New(slog.DiscardHandler)), xds.Identity{Group: xds.GroupID{Namespace: "shop", Name: "web"}, Pod: "a"}
		b.Connected(proxy)
		for i := range maxNACKs {
			b.NACKed(proxy, xds.NACK{Type: xds.Cluster, Name: fmt.Sprint(i), Reason: strings.Repeat("x", 8<<10)})
		}
		nacks := b.entries[proxy].nacks
		if size := sizeOf(nacks); size > maxNACKBytes || size < maxNACKBytes/2 {
			t.Errorf("%d bytes are updated", size)
		}
		if newest := nacks[len(nacks)-1].Name; newest != fmt.Sprint(maxNACKs-1) {
			t.Errorf("the last one updated is %s", newest)
		}
	})
	t.Run("except that the newest one is always updated", func(t *testing.T) {
		t.Parallel()
		b, proxy := NewServer(slog.New(slog.DiscardHandler)), xds.Identity{Group: xds.GroupID{Namespace: "shop", Name: "web"}, Pod: "a"}
		b.Connected(proxy)
		b.NACKed(proxy, xds.NACK{Type: xds.VirtualHost, Name: "a", Routes: []string{strings.Repeat("x", 2*maxNACKBytes)}})
		if len(b.entries[proxy].nacks) != 1 {
			t.Error("it is not updated")
		}
	})
	t.Run("by the bytes of all offers", func(t *testing.T) {
		t.Parallel()
		b := NewServer(slog.New(slog.DiscardHandler))
		size := func() (sum int) {
			for _, o := range b.offers {
				sum += len(o.instead)
			}
			return sum
		}
		for i := range 2 * maxOffers / maxOffer {
			b.Offer(fmt.Sprint(i), "v", make([]byte, maxOffer))
		}
		if size() != maxOffers {
			t.Errorf("%d bytes are offered", size())
		}
		b.Withdraw("0")
		b.Offer("1", "v", make([]byte, maxOffer-1))
		b.Offer("last", "v", make([]byte, maxOffer+1))
		b.Offer("last", "v", make([]byte, maxOffer))
		if size() != maxOffers-1 || b.offers["last"].instead == nil {
			t.Errorf("%d bytes are offered after one was withdrawn", size())
		}
	})
}
