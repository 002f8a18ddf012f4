package pipeline

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
)

// What is in quarantine is the same on all replicas, or proxies of one would be given something else than those of another, and no state
// would be held by all. So each replica offers what it has in quarantine, with a digest of the rules that are refused, and takes over what
// others offer of the rules that it has. Offers are merged: of several good versions the one of the highest generation counts, then the one
// whose bytes sort last; and a level that is refused at one replica is refused at all. What a replica serves for want of a good version
// says nothing of one that another replica knows.

// Peers is where other replicas find offers.
type Peers interface {
	// Offer shows what is served instead of the version that is refused, and Withdraw that nothing is any more.
	Offer(key, refused string, instead []byte)
	Withdraw(key string)
}

// offer is what a replica has in quarantine.
type offer struct {
	// refused is a digest of what is refused.
	refused string
	content offerContent
	// goodRefused and closedRefused are the levels of a route that are refused at some replica.
	goodRefused, closedRefused bool
}

type offerContent struct {
	// Floor is the first level that is not known to be refused. Without a good version it says nothing of that level.
	Floor  level           `json:"floor"`
	Rules  []string        `json:"rules,omitempty"`
	Reason string          `json:"reason"`
	Good   json.RawMessage `json:"good,omitempty"`
}

// Offered takes in what another replica has in quarantine; refused is empty when it has nothing there any more, so that the same rules get
// another chance. It never blocks.
func (p *Pipeline) Offered(key, refused string, instead []byte) {
	o := offer{refused: refused}
	if refused == "" || json.Unmarshal(instead, &o.content) == nil {
		o.goodRefused = o.content.Floor > lastGood && len(o.content.Good) > 0
		o.closedRefused = o.content.Floor > closed
		p.config.inbox.offer(key, o)
	}
}

// with merges offers of the same.
func (o offer) with(other offer) offer {
	if o.refused != other.refused {
		return other
	}
	o.content.Floor = max(o.content.Floor, other.content.Floor)
	o.goodRefused, o.closedRefused = o.goodRefused || other.goodRefused, o.closedRefused || other.closedRefused
	if o.content.better(other.content.Good) {
		o.content.Good = other.content.Good
	}
	return o
}

// better says whether another good version counts more.
func (c offerContent) better(other json.RawMessage) bool {
	generation := func(good json.RawMessage) int64 {
		r, err := route.Decode(good)
		if err != nil {
			return -1
		}
		return r.Outcome.Generation
	}
	return cmp.Or(cmp.Compare(generation(other), generation(c.Good)), bytes.Compare(other, c.Good)) > 0
}

const filtersPrefix = "filters@"

// offerKey is how replicas call a route at a Gateway, and filtersKey the filters of a listener.
func (p place) offerKey() string { return p.route + "@" + p.gateway }

func filtersKey(listener string) string { return filtersPrefix + listener }

// floor is the first level that is not known to be refused.
func (q *quarantined) floor() level {
	if q.level() == closed && q.good == nil {
		return lastGood
	}
	return q.level()
}

// offer shows what is in quarantine here.
func (q *quarantine) offer() {
	for p, entry := range q.routes {
		if entry.shown {
			continue
		}
		entry.shown = true
		content := offerContent{Floor: entry.floor(), Rules: entry.rules, Reason: entry.reason}
		if entry.good != nil {
			content.Good, _ = entry.good.Encode()
		}
		q.show(p.offerKey(), digestOf(entry.refused.Rules), content)
	}
	for key, entry := range q.filters {
		content := offerContent{Reason: entry.reason}
		switch {
		case entry.good:
			content.Good, _ = json.Marshal(entry.instead)
		case entry.closed:
			content.Floor = closed
		}
		q.show(filtersKey(key), digestOf(entry.refused), content)
	}
}

func (q *quarantine) show(key, refused string, content offerContent) {
	if body, err := json.Marshal(content); err == nil {
		q.to.Peers.Offer(key, refused, body)
	}
}

// adopt takes over what other replicas have in quarantine of what is wanted here, and says whether that changed anything.
func (q *quarantine) adopt() bool {
	if len(q.offers) > maxRefusals {
		// What is still in quarantine elsewhere is offered again when a replica is followed anew.
		q.offers = map[string]offer{}
	}
	changed := false
	for key, o := range q.offers {
		if listener, filters := strings.CutPrefix(key, filtersPrefix); filters {
			changed = q.adoptFilters(listener, o) || changed
			continue
		}
		id, gateway, _ := strings.Cut(key, "@")
		changed = q.adoptRoute(place{id, gateway}, o) || changed
	}
	return changed
}

func (q *quarantine) adoptRoute(p place, o offer) bool {
	current, exists := q.graph.routes.Get(nil, p.route)
	if !exists || !slices.Contains(current.Gateways(), p.gateway) || digestOf(current.Rules) != o.refused {
		return false
	}
	entry, fresh := q.routes[p], false
	if entry == nil || !current.SameRules(entry.refused) {
		if q.full(p.gateway) {
			return false
		}
		q.quarantineRoute(p, current, o.content.Rules, o.content.Reason)
		entry, fresh = q.routes[p], true
	}
	before, changed := entry.level(), fresh
	entry.goodRefused, entry.closedRefused = entry.goodRefused || o.goodRefused, entry.closedRefused || o.closedRefused
	own := offerContent{}
	if entry.good != nil {
		own.Good, _ = entry.good.Encode()
	}
	if theirs, err := route.Decode(o.content.Good); err == nil && own.better(o.content.Good) && theirs.Replaces(entry.refused) {
		entry.good, changed = &theirs, true
		q.good[p] = theirs
	}
	if changed = changed || entry.level() != before; changed {
		q.setRoutes(p.route)
	}
	return changed
}

func (q *quarantine) adoptFilters(listener string, o offer) bool {
	refused := q.graph.filtersOf(listener)
	if len(refused) == 0 || digestOf(refused) != o.refused {
		return false
	}
	entry, changed := q.filters[listener], false
	if entry == nil {
		q.quarantineFilters(listener, refused, o.content.Reason)
		entry, changed = q.filters[listener], true
	}
	own, _ := json.Marshal(entry.instead)
	var theirs []ir.ExternalAuth
	switch {
	case entry.closed:
	case o.content.Floor == closed:
		entry.instead, entry.good, entry.closed, changed = []ir.ExternalAuth{{}}, false, true, true
	case json.Unmarshal(o.content.Good, &theirs) == nil && replacesFilters(listener, theirs, refused) && (!entry.good || bytes.Compare(o.content.Good, own) > 0):
		entry.instead, entry.good, changed = theirs, true, true
		q.goodFilters[listener] = theirs
	}
	if changed {
		q.graph.quarantinedFilters.Set(listener, *entry)
	}
	return changed
}

// offerPatience is how long a replica that does not know what was good waits for another one to say. Proxies go on with what they have
// meanwhile.
const offerPatience = 3 * time.Second

// awaitOffer says whether a refused route has to wait: proxies have had it, or refused it, before, no good version of it is known here, and
// another replica may know one. It waits once.
func (q *quarantine) awaitOffer(p place) bool {
	kind, name := splitRouteKey(p.route)
	if _, known := q.good[p]; known || q.routes[p] != nil {
		return false
	}
	until, waits := q.patience[p]
	if !waits {
		if !q.graph.reportedJudged(kind, name, p.gateway) {
			return false
		}
		until = time.Now().Add(offerPatience)
		q.patience[p] = until
		time.AfterFunc(offerPatience, q.again)
	}
	return time.Now().Before(until)
}

// digestOf is the same on every replica.
func digestOf(refused any) string {
	text, _ := json.Marshal(refused)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
