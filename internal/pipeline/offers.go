package pipeline

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
)

// A replica that was restarted does not know what was good before. So each replica offers what it serves instead of what is in quarantine, with a digest of the rules that were
// refused, and of several offers all replicas take the same one: that of the highest generation, then the one whose bytes sort last.

// Peers is where other replicas find offers.
type Peers interface {
	// Offer shows what is served instead of the version that is refused, and Withdraw that nothing is any more.
	Offer(key, refused string, instead []byte)
	Withdraw(key string)
}

// offer is what another replica serves instead of a refused version.
type offer struct {
	refused string
	instead []byte
}

// Offered takes in what another replica serves instead. It never blocks.
func (p *Pipeline) Offered(key, refused string, instead []byte) {
	p.config.inbox.offer(key, refused, instead)
}

const filtersPrefix = "filters@"

// offerKey is how replicas call a route at a Gateway, and filtersKey the filters of a listener.
func (p place) offerKey() string { return p.route + "@" + p.gateway }

func filtersKey(listener string) string { return filtersPrefix + listener }

// offer shows what is served instead.
func (q *quarantine) offer() {
	for p, entry := range q.routes {
		if entry.level != lastGood {
			continue
		}
		if body, err := entry.good.Encode(); err == nil {
			q.to.Peers.Offer(p.offerKey(), digestOf(entry.refused.Rules), body)
		}
	}
	for key, entry := range q.filters {
		if !entry.good {
			continue
		}
		if body, err := json.Marshal(entry.instead); err == nil {
			q.to.Peers.Offer(filtersKey(key), digestOf(entry.refused), body)
		}
	}
}

// takeOffer takes in what another replica serves instead.
func (q *quarantine) takeOffer(key string, o offer) {
	if known, ok := q.offers[key]; ok && known.refused == o.refused && bytes.Compare(known.instead, o.instead) >= 0 {
		return
	}
	if len(q.offers) >= maxRefusals {
		// What is still served elsewhere is offered again when a replica is followed anew.
		q.offers = map[string]offer{}
	}
	q.offers[key] = o
	if listener, filters := strings.CutPrefix(key, filtersPrefix); filters {
		if q.filters[listener] != nil && q.considerFilters(listener) {
			q.graph.quarantinedFilters.Set(listener, *q.filters[listener])
		}
		return
	}
	id, gateway, _ := strings.Cut(key, "@")
	if p := (place{id, gateway}); q.routes[p] != nil && q.considerRoute(p) {
		q.setRoutes(p.route)
	}
}

// considerRoute compares what is served instead of a route with what another replica offers, and says whether that is served from now on.
func (q *quarantine) considerRoute(p place) bool {
	o, offered := q.offers[p.offerKey()]
	entry := q.routes[p]
	if !offered || o.refused != digestOf(entry.refused.Rules) {
		return false
	}
	theirs, err := route.Decode(o.instead)
	if err != nil || !theirs.Replaces(entry.refused) {
		return false
	}
	if entry.level == lastGood {
		own, _ := entry.good.Encode()
		if cmp.Or(cmp.Compare(theirs.Outcome.Generation, entry.good.Outcome.Generation), bytes.Compare(o.instead, own)) <= 0 {
			return false
		}
	}
	entry.good, entry.level = theirs, lastGood
	return true
}

// considerFilters does that for the filters of a listener.
func (q *quarantine) considerFilters(listener string) bool {
	o, offered := q.offers[filtersKey(listener)]
	entry := q.filters[listener]
	if !offered || o.refused != digestOf(entry.refused) {
		return false
	}
	var theirs []ir.ExternalAuth
	if json.Unmarshal(o.instead, &theirs) != nil || !replacesFilters(listener, theirs, entry.refused) {
		return false
	}
	if own, _ := json.Marshal(entry.instead); entry.good && bytes.Compare(o.instead, own) <= 0 {
		return false
	}
	entry.instead, entry.good = theirs, true
	return true
}

// digestOf is the same on every replica.
func digestOf(refused any) string {
	text, _ := json.Marshal(refused)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
