package peers

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestTheBoardIsBounded(t *testing.T) {
	t.Parallel()
	t.Run("by the bytes of a proxy's refusals", func(t *testing.T) {
		t.Parallel()
		b, proxy := NewBoard(slog.New(slog.DiscardHandler)), xds.Identity{Gateway: "shop/web", Pod: "a"}
		b.Connected(proxy)
		for i := range maxRefusals {
			b.Refused(proxy, xds.Refusal{Type: xds.Cluster, Name: fmt.Sprint(i), Reason: strings.Repeat("x", 8<<10)})
		}
		refusals := b.entries[proxy].refusals
		if size := sizeOf(refusals); size > maxRefusalBytes || size < maxRefusalBytes/2 {
			t.Errorf("%d bytes are shown", size)
		}
		if newest := refusals[len(refusals)-1].Name; newest != fmt.Sprint(maxRefusals-1) {
			t.Errorf("the last one shown is %s", newest)
		}
	})
	t.Run("except that the newest one is always shown", func(t *testing.T) {
		t.Parallel()
		b, proxy := NewBoard(slog.New(slog.DiscardHandler)), xds.Identity{Gateway: "shop/web", Pod: "a"}
		b.Connected(proxy)
		b.Refused(proxy, xds.Refusal{Type: xds.VirtualHost, Name: "a", Routes: []string{strings.Repeat("x", 2*maxRefusalBytes)}})
		if len(b.entries[proxy].refusals) != 1 {
			t.Error("it is not shown")
		}
	})
	t.Run("by the bytes of all offers", func(t *testing.T) {
		t.Parallel()
		b := NewBoard(slog.New(slog.DiscardHandler))
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
