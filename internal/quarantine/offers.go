package quarantine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// All replicas have the same in quarantine. Otherwise proxies of different replicas would get different versions, and no state would be
// acknowledged by all. Each replica offers what it has in quarantine, with a digest of the rejected rules, and adopts the offers of others
// for rules that it has. Offers are merged: of several good versions the one with the highest generation wins, then the one whose bytes
// sort last. A level that is rejected at one replica is rejected at all. A replica without a good version says nothing about that level.

// Peers shows offers to other replicas.
type Peers interface {
	// Offer shows what is served instead of the rejected version; Withdraw ends it.
	Offer(key, rejected string, instead []byte)
	Withdraw(key string)
}

// OfferID is a place of which a replica offers something. Replicas see changes at different times, so one may offer what is about a version
// that another one has not seen yet, or no longer has.
type OfferID struct{ Replica, Key string }

// Offer is what a replica has in quarantine.
type Offer struct {
	// rejected is a digest of what is rejected.
	rejected string
	content  offerContent
	// goodRejected, closedRejected and widenedRejected are the levels of a route that are rejected at some replica.
	goodRejected, closedRejected, widenedRejected bool
	// adopted is the entry that has all of it, nil if none has. compared are the rules that it was compared with last, and digest is theirs.
	adopted  *routeEntry
	compared []route.Rule
	digest   string
}

type offerContent struct {
	// Floor is the first level that is not known to be rejected. Without a good version it says nothing of that level.
	Floor  level    `json:"floor"`
	Rules  []string `json:"rules,omitempty"`
	Reason string   `json:"reason"`
	// Limited is set for a route whose good version is not served, because its Gateway has too many in quarantine, and Apart for a route or
	// host that is replaced only at the proxies that reject it. Policies is set for a host that is rejected for what its rules share, and
	// AtFault has the routes because of which it is, as `<kind>/<namespace>/<name>`.
	Limited  bool            `json:"limited,omitempty"`
	Apart    bool            `json:"apart,omitempty"`
	Policies bool            `json:"policies,omitempty"`
	AtFault  []string        `json:"atFault,omitempty"`
	Good     json.RawMessage `json:"good,omitempty"`
	Causes   causes          `json:"causes,omitempty"`
}

// NewOffer reads the offer of another replica. The digest is empty if the replica has nothing in quarantine there any more, so that the
// same rules get another try. It returns false if the content cannot be read.
func NewOffer(rejected string, instead []byte) (Offer, bool) {
	o := Offer{rejected: rejected}
	if rejected != "" && json.Unmarshal(instead, &o.content) != nil {
		return Offer{}, false
	}
	o.goodRejected = o.content.Floor > lastGood && len(o.content.Good) > 0
	o.closedRejected, o.widenedRejected = o.content.Floor > closed, o.content.Floor > widened
	return o, true
}

// Withdrawn reports whether the replica has nothing in quarantine there any more.
func (o Offer) Withdrawn() bool { return o.rejected == "" }

// With merges two offers about the same version.
func (o Offer) With(other Offer) Offer {
	if o.rejected != other.rejected {
		return other
	}
	o.content.Floor = max(o.content.Floor, other.content.Floor)
	o.goodRejected, o.closedRejected = o.goodRejected || other.goodRejected, o.closedRejected || other.closedRejected
	o.widenedRejected = o.widenedRejected || other.widenedRejected
	o.content.Limited, o.content.Apart = o.content.Limited || other.content.Limited, o.content.Apart && other.content.Apart
	o.content.Causes, o.adopted = other.content.Causes, nil
	o.content.Rules, o.content.Reason = other.content.Rules, other.content.Reason
	o.content.Policies, o.content.AtFault = other.content.Policies, other.content.AtFault
	if o.content.better(other.content.Good) {
		o.content.Good = other.content.Good
	}
	return o
}

// digestOf returns the digest of the rules of a route. Rules that are the same as last time are not read again.
func (o *Offer) digestOf(r route.Resolved) string {
	if len(o.compared) == 0 || len(o.compared) != len(r.Rules) || &o.compared[0] != &r.Rules[0] {
		o.compared, o.digest = r.Rules, digestOf(r.Rules)
	}
	return o.digest
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

const (
	filtersPrefix = "filters@"
	hostPrefix    = "host@"
)

// offerKey is how replicas call a route at a Gateway, filtersKey the filters of a listener, and hostKey a virtual host.
func (p place) offerKey() string { return p.route + "@" + p.gateway }

func filtersKey(listener ir.ListenerID) string { return filtersPrefix + listener.String() }

func hostKey(host ir.HostID) string { return hostPrefix + host.String() }

// floor is the first level that is not known to be rejected.
func (q *routeEntry) floor() level {
	if q.level() == closed && q.good == nil {
		return lastGood
	}
	return q.level()
}

// Offer offers what is in quarantine here to other replicas.
func (q *Quarantine) Offer() {
	for p, entry := range q.routes {
		if entry.offered || entry.beyond || entry.apart && len(entry.pods) == 0 {
			// What a limit closes is tried again when it is lifted, and other replicas have the same NACKs. What only another replica knows
			// proxies of ends with what that one offers.
			continue
		}
		entry.offered = true
		content := offerContent{
			Floor: entry.floor(), Rules: entry.rules, Reason: entry.reason, Limited: entry.limited, Apart: entry.apart, Causes: entry.causes,
		}
		if entry.good != nil {
			content.Good, _ = entry.good.Encode()
		}
		q.publish(p.offerKey(), digestOf(entry.rejected.Rules), content)
	}
	for key, entry := range q.filters {
		q.publish(filtersKey(key), digestOf(entry.rejected), offerContent{Floor: closed, Reason: entry.reason, Causes: entry.causes})
	}
	q.offerHosts()
}

// offerHosts offers the hosts that are closed.
func (q *Quarantine) offerHosts() {
	for at, entry := range q.apart {
		if entry.closed && !entry.offered && q.hosts[at.Host] == nil {
			entry.offered, entry.shown = true, true
			q.publishHost(at.Host, entry.version, entry.cause, offerContent{Apart: true, Causes: entry.causes})
		}
	}
	for host, entry := range q.hosts {
		if !entry.offered {
			entry.offered = true
			q.publishHost(host, entry.rejected, entry.cause, offerContent{Causes: entry.causes})
		}
	}
}

func (q *Quarantine) publishHost(host ir.HostID, rejected string, cause hostCause, content offerContent) {
	content.Floor, content.Reason, content.Policies, content.AtFault = closed, cause.reason, cause.policies, cause.routes
	q.publish(hostKey(host), rejected, content)
}

// cause is why a host is closed.
func (c offerContent) cause() hostCause {
	return hostCause{reason: c.Reason, policies: c.Policies, routes: c.AtFault}
}

// maxGood is the size of a good version that is offered. An offer has at most 1 MiB, and what else it says must not be lost.
const maxGood = 960 << 10

func (q *Quarantine) publish(key, rejected string, content offerContent) {
	if len(content.Good) > maxGood {
		content.Good = nil
	}
	if body, err := json.Marshal(content); err == nil {
		q.peers.Offer(key, rejected, body)
	}
}

// withdraw says that a version is not in quarantine any more. What others offer of the same version is forgotten, so that it gets another
// chance. What they offer of a later one, which this replica may not have seen yet, stays.
func (q *Quarantine) withdraw(key, rejected string) {
	maps.DeleteFunc(q.offers, func(id OfferID, o Offer) bool { return id.Key == key && o.rejected == rejected })
	q.peers.Withdraw(key)
}

// adopt takes over what other replicas have in quarantine of what is wanted here, and says whether that changed anything.
func (q *Quarantine) adopt() bool {
	if len(q.offers) > MaxOffers {
		// What is still in quarantine elsewhere is offered again when a replica is followed anew.
		q.offers = map[OfferID]Offer{}
	}
	changed := false
	for id, o := range q.offers {
		if listener, filters := strings.CutPrefix(id.Key, filtersPrefix); filters {
			changed = q.adoptFilters(ir.ParseListenerID(listener), o) || changed
			continue
		}
		if host, closes := strings.CutPrefix(id.Key, hostPrefix); closes {
			changed = q.adoptHost(ir.ParseHostID(host), o) || changed
			continue
		}
		key, gateway, _ := strings.Cut(id.Key, "@")
		p := place{key, gateway}
		if o.adopted != nil && o.adopted == q.routes[p] {
			// Nothing else is in it. Comparing the versions again would take long.
			continue
		}
		adopts := q.adoptRoute(p, &o)
		q.offers[id] = o
		changed = changed || adopts
	}
	return changed
}

// adoptRoute takes over what another replica has in quarantine of a route, and reports whether that changed anything.
func (q *Quarantine) adoptRoute(p place, o *Offer) bool {
	current, exists := q.tables.Routes.Get(nil, p.route)
	if !exists || !slices.Contains(current.Gateways(), p.gateway) || o.digestOf(current) != o.rejected ||
		q.corrected(p.gateway, o.content.Causes) {
		return false
	}
	entry, fresh := q.routes[p], false
	if entry == nil || !current.SameRules(entry.rejected) {
		// The other replica has counted it.
		q.quarantineRoute(p, current, routeEntry{
			rules: o.content.Rules, reason: o.content.Reason, limited: o.content.Limited, apart: o.content.Apart, causes: o.content.Causes,
		})
		entry, fresh = q.routes[p], true
	}
	o.adopted = entry
	before, changed := entry.level(), fresh
	entry.takeLevels(*o)
	entry.causes = entry.causes.with(o.content.Causes)
	if entry.apart && !o.content.Apart {
		// Where one replica replaces it for all proxies, all do.
		q.replaceForAll(p, entry)
		changed = true
	}
	if o.content.Limited && !entry.limited {
		// All replicas serve the good versions of the same routes.
		entry.limited, entry.good, changed = true, nil, true
	}
	if theirs, ok := entry.betterGood(*o); ok {
		entry.good, changed = &theirs, true
		q.lastGood[p] = theirs
	}
	if changed = changed || entry.level() != before; changed {
		q.setRoutes(p.route)
	}
	return changed
}

// adoptHost closes a host that another replica has closed for all proxies.
func (q *Quarantine) adoptHost(host ir.HostID, o Offer) bool {
	if o.content.Apart || o.rejected == "" || q.tables.HostVersion(host) != o.rejected ||
		q.corrected(host.Table.Gateway, o.content.Causes) {
		return false
	}
	return q.closeHost(host, &hostEntry{rejected: o.rejected, cause: o.content.cause(), causes: o.content.Causes})
}

// takeLevels takes over the levels that are rejected at some replica, and the reason if only other replicas know the proxies.
func (q *routeEntry) takeLevels(o Offer) {
	if q.apart && len(q.pods) == 0 {
		q.rules, q.reason = o.content.Rules, o.content.Reason
	}
	q.goodRejected, q.closedRejected = q.goodRejected || o.goodRejected, q.closedRejected || o.closedRejected
	q.widenedRejected = q.widenedRejected || o.widenedRejected
}

// betterGood is the good version of an offer, if it counts more than the own one and may be served.
func (q *routeEntry) betterGood(o Offer) (route.Resolved, bool) {
	own := offerContent{}
	if q.good != nil {
		own.Good, _ = q.good.Encode()
	}
	theirs, err := route.Decode(o.content.Good)
	return theirs, err == nil && !q.limited && own.better(o.content.Good) && theirs.Replaces(q.rejected)
}

func (q *Quarantine) adoptFilters(listener ir.ListenerID, o Offer) bool {
	rejected := q.tables.filtersOf(listener)
	if len(rejected) == 0 || digestOf(rejected) != o.rejected || q.corrected(listener.Gateway, o.content.Causes) {
		return false
	}
	if entry := q.filters[listener]; entry != nil {
		entry.causes = entry.causes.with(o.content.Causes)
		return false
	}
	q.quarantineFilters(listener, rejected, o.content.Reason, o.content.Causes)
	return true
}

// OfferWait is how long a replica that does not know what was good waits for another one to say. Proxies go on with what they have
// meanwhile.
const OfferWait = 3 * time.Second

// awaitOffers reports whether one of the routes of a NACK has to wait.
func (q *Quarantine) awaitOffers(r NACK) bool {
	for key := range r.byRoute() {
		if q.awaitOffer(place{key, ir.ParseTableID(r.Table).Gateway}) {
			return true
		}
	}
	return false
}

// awaitOffer reports whether a rejected route has to wait: proxies have had it, or rejected it, before, no good version of it is known
// here, and another replica may know one. It waits once.
func (q *Quarantine) awaitOffer(p place) bool {
	kind, name := store.SplitKindKey(p.route)
	if _, known := q.lastGood[p]; known || q.routes[p] != nil {
		return false
	}
	until, waits := q.waitUntil[p]
	if !waits {
		if !q.tables.reportedAnswer(kind, name, p.gateway) {
			return false
		}
		until = time.Now().Add(OfferWait)
		q.waitUntil[p] = until
		time.AfterFunc(OfferWait, q.again)
	}
	return time.Now().Before(until)
}

// digestOf is the same on every replica. Only replicas may see it, see [ir.DigestWithSecrets].
func digestOf(rejected any) string { return ir.DigestWithSecrets(rejected) }
