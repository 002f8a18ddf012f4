package pipeline

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

func TestABatchIsAsOldAsTheFirstThatCameIn(t *testing.T) {
	t.Parallel()
	put := func(i *inbox) { i.put(store.Change{Kind: store.Service, Key: "a/b"}) }
	for name, come := range map[string]func(*inbox){
		"a change": put,
		"a NACK":   func(i *inbox) { i.nack(quarantine.NACK{Name: "a"}, quarantine.Report{Reason: "b"}) },
		"an offer": func(i *inbox) { i.offer(quarantine.OfferID{Replica: "other", Key: "a"}, quarantine.Offer{}) },
		"idle":     func(i *inbox) { i.idle(map[ir.Endpoints]bool{{}: true}) },
		"again":    func(i *inbox) { i.again() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := newInbox()
				put(i)
				i.take()
				i.done()
				time.Sleep(time.Hour)
				start := time.Now()
				come(i)
				time.Sleep(time.Second)
				put(i)
				if since := i.take().since; !since.Equal(start) {
					t.Errorf("the batch is of %s, want %s", since, start)
				}
				time.Sleep(time.Hour)
				if since := i.take().since; !since.Equal(time.Now()) {
					t.Errorf("an empty batch is of %s, want now", since)
				}
			})
		})
	}
}

// TestAWithdrawalIsNeverDropped has more offers come in than are kept until the next step.
func TestAWithdrawalIsNeverDropped(t *testing.T) {
	t.Parallel()
	i := newInbox()
	id := func(n int) quarantine.OfferID { return quarantine.OfferID{Replica: "other", Key: fmt.Sprint(n)} }
	offer, _ := quarantine.NewOffer("digest", []byte("{}"))
	for n := range quarantine.MaxOffers + 1 {
		i.offer(id(n), offer)
	}
	i.offer(id(0), quarantine.Offer{})
	i.offer(id(-1), quarantine.Offer{})
	offers := i.take().offers
	if len(offers) != quarantine.MaxOffers+1 {
		t.Errorf("%d offers are kept", len(offers))
	}
	for _, n := range []int{0, -1} {
		if o, kept := offers[id(n)]; !kept || !o.Withdrawn() {
			t.Errorf("the withdrawal of %d is dropped: %t", n, !kept)
		}
	}
}

// TestNACKsAreCountedByBatch has NACKs come in while a step runs: objects do not report these at its end.
func TestNACKsAreCountedByBatch(t *testing.T) {
	t.Parallel()
	i, group := newInbox(), xds.GroupID{Namespace: "shop", Name: "web"}
	nack := func() { i.nack(quarantine.NACK{Group: group, Name: "a"}, quarantine.Report{Reason: "b"}) }
	nack()
	nack()
	first := i.take()
	nack()
	if second := i.take(); first.nacked[group] != 2 || second.nacked[group] != 1 {
		t.Errorf("%v and %v are counted", first.nacked, second.nacked)
	}
}
