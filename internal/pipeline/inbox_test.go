package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/store"
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
