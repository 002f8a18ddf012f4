package proof

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// gatewayLabel is on the Service of a fleet, and so on its EndpointSlices.
	gatewayLabel = gwv1.GatewayNameLabelKey
	// lateAfter is when an object says that its proxies take long. It is longer than a proxy takes to find another replica.
	lateAfter = time.Minute
	lateCheck = 5 * time.Second
)

// Keeper keeps account of what is proved. It is the [pipeline.Statuses] that the pipeline speaks to, and passes everything on with what the
// proxies have to say about it.
type Keeper struct {
	// Statuses is where outcomes go. What has nothing to do with proxies passes through.
	pipeline.Statuses
	now      func() time.Time
	metrics  *metrics
	sessions *sessions

	mu sync.Mutex
	// books are by whom the proxies serve, and sharing is the name of those whom a Gateway is served with, where it has no proxies of its
	// own.
	books   map[string]*book
	sharing map[string]string
	// problems is why fleets can not be brought to the cluster.
	problems map[string]string
	objects  map[subject]*object
	ready    readiness
	fronts   fronts
	// since is when the changes that are being handed out came in.
	since time.Time
}

var (
	_ pipeline.Statuses = (*Keeper)(nil)
	_ pipeline.Proofs   = (*Keeper)(nil)
)

// subject is an object whose outcome the proxies have a say in.
type subject struct {
	kind store.Kind
	key  string
}

// object is the last that was said of a subject.
type object struct {
	// generation is that of a route, and gateways are those whose proxies serve it.
	generation int64
	gateways   []string
	// refused is why proxies of a Gateway refuse it, by Gateway.
	refused map[string]refused
	publish func(verdict func(gateway string) outcome.Condition)
}

// refused is what proxies say of an object; listeners are those of a Gateway or ListenerSet that it is about.
type refused struct {
	reason    string
	listeners []string
}

// New returns a Keeper that passes outcomes on.
func New(statuses pipeline.Statuses, registerer prometheus.Registerer) *Keeper {
	k := &Keeper{
		Statuses: statuses, now: time.Now, sessions: newSessions(),
		books: map[string]*book{}, sharing: map[string]string{}, problems: map[string]string{}, objects: map[subject]*object{}, ready: newReadiness(), fronts: newFronts(),
	}
	k.metrics = newMetrics(registerer, k.oldest)
	return k
}

// Reach says which states the proxies of groups are to have from now on, and since when that is so. Outcomes that are set until the next
// call belong to it.
func (k *Keeper) Reach(states map[string]string, since time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since = since
	for group, state := range states {
		b := k.bookOf(group)
		if k.sharing[group] != "" {
			// Its own proxies are gone, or about to go. It may have some again.
			b = newBook(group)
			k.books[group] = b
		}
		b.reach(state)
		// A proxy of another replica may have it already.
		k.prove(group)
	}
}

// Fleet says which Service leads to a Gateway's proxies, empty if none does.
func (k *Keeper) Fleet(gateway ir.Gateway, service string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name, group := gateway.Name.String(), gateway.Group().String()
	k.fronts.set(name, service)
	if service == "" {
		k.stopSharing(name)
		delete(k.books, name)
		delete(k.problems, name)
		return
	}
	moves := cmp.Or(k.sharing[name], name) != group
	if moves {
		k.stopSharing(name)
	}
	if moves && group != name {
		k.books[name] = k.bookOf(name).afresh()
		k.sharing[name] = group
		k.book(name).unled[name] = len(k.ready.pods(service)) == 0
	}
	b := k.book(name)
	b.services[name], b.delivery = service, gateway.Fleet.Delivery
	if moves {
		k.awaitAgain(name)
	}
	k.prove(group)
}

// stopSharing forgets the proxies that a Gateway shared.
func (k *Keeper) stopSharing(gateway string) {
	if shared := k.books[k.sharing[gateway]]; shared != nil {
		delete(shared.services, gateway)
		delete(shared.unled, gateway)
	}
	delete(k.sharing, gateway)
}

// awaitAgain has the objects of a Gateway wait for other proxies than before.
func (k *Keeper) awaitAgain(gateway string) {
	for s := range k.ofGateway(gateway) {
		k.book(gateway).await(s, k.since)
		k.publish(s)
	}
}

// ofGateway are the objects that a Gateway's proxies serve. It looks through all there are, so it is for what is rare.
func (k *Keeper) ofGateway(gateway string) iter.Seq[subject] {
	return func(yield func(subject) bool) {
		for s, o := range k.objects {
			if slices.Contains(o.gateways, gateway) && !yield(s) {
				return
			}
		}
	}
}

// Hinder says why a Gateway's proxies can not be supplied, and with an empty text that they can be again. Whatever waits for them says so
// at once.
func (k *Keeper) Hinder(gateway ir.Name, problem string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.book(gateway.String())
	b.hindered = problem
	for s := range b.waiting {
		k.publish(s)
	}
}

// book is about the proxies that serve a Gateway, whoever else they serve.
func (k *Keeper) book(gateway string) *book { return k.bookOf(k.groupOf(gateway)) }

// groupOf is the group that serves a Gateway.
func (k *Keeper) groupOf(gateway string) string { return cmp.Or(k.sharing[gateway], gateway) }

// bookOf is about the proxies of a group.
func (k *Keeper) bookOf(group string) *book {
	b := k.books[group]
	if b == nil {
		b = newBook(group)
		k.books[group] = b
	}
	return b
}

// prove finds out what all ready proxies of a group have, and says of every object that is live since that it is.
func (k *Keeper) prove(group string) {
	b := k.books[group]
	if b == nil {
		return
	}
	pods := k.pods(b)
	if len(pods) == 0 {
		return
	}
	all := b.last
	for _, pod := range pods {
		all = min(all, k.numberOf(b, pod))
	}
	for s, since := range b.prove(all) {
		k.metrics.live.Observe(k.now().Sub(since).Seconds())
		k.publish(s)
	}
}

// pods are the ready proxies that are written about in a book.
func (k *Keeper) pods(b *book) []string {
	if len(b.services) == 1 {
		for _, service := range b.services {
			return k.ready.pods(service)
		}
	}
	var pods []string
	for _, service := range b.services {
		pods = append(pods, k.ready.pods(service)...)
	}
	slices.Sort(pods)
	return slices.Compact(pods)
}

// numberOf is the newest state that a proxy is known to have, -1 if none is. A proxy has one stream at a time: where several replicas say
// that they have it, all but the one that it connected to last have yet to notice that it is gone.
func (k *Keeper) numberOf(b *book, pod string) int {
	number := -1
	for i, held := range k.sessions.newest(xds.Identity{Gateway: b.group, Pod: pod}) {
		numbers := b.states
		if held.left {
			// It may have been sent something else before the state came back.
			numbers = b.earliest
		}
		n, known := numbers[held.state]
		if !known || held.state == "" {
			return -1
		}
		if i == 0 || n < number {
			number = n
		}
	}
	return number
}

func (k *Keeper) publish(s subject) {
	if o := k.objects[s]; o != nil {
		o.publish(func(gateway string) outcome.Condition { return k.verdict(s, gateway) })
	}
}

// Run follows the proxies until the context is done.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(lateCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.sessions.wake:
			k.follow()
		case <-ticker.C:
			k.checkLate()
		}
	}
}

func (k *Keeper) follow() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, group := range k.sessions.takeChanged() {
		k.prove(group)
	}
}

// checkLate says of objects that have waited for long what they wait for.
func (k *Keeper) checkLate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, b := range k.books {
		for s, w := range b.waiting {
			if !w.late && k.now().Sub(w.since) > lateAfter {
				w.late = true
				b.waiting[s] = w
				k.publish(s)
			}
		}
	}
}

// oldest is the age of the oldest change that is not proved.
func (k *Keeper) oldest() float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	age := time.Duration(0)
	for _, b := range k.books {
		for _, w := range b.waiting {
			age = max(age, k.now().Sub(w.since))
		}
	}
	return age.Seconds()
}
