package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// reporting is a route with what a leader has said of its first generation.
func reporting(route, status, reason string) string {
	return route + fmt.Sprintf(`status:
  parents:
  - parentRef: {name: web}
    controllerName: gatewright.dev/gateway-controller
    conditions: [{type: gatewright.dev/Programmed, status: %q, reason: %s, observedGeneration: 1}]
`, status, reason)
}

// A leader that no proxy has found says after a while that it waits for them.
func TestAVersionThatWasLiveIsGoodWhateverIsSaidOfItLater(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	for _, object := range []string{
		reporting(aRoute(1, "/good"), "True", "Programmed"),
		reporting(strings.Replace(aRoute(1, "/good"), "name: r,", "name: r, labels: {a: b},", 1), "False", "Pending"),
		reporting(aRoute(2, "/bad"), "False", "Pending"),
	} {
		put(t, p, object)
		p.config.step()
	}
	if p.quarantine.Size().Reported != 1 {
		t.Errorf("the quarantine has %+v", p.quarantine.Size())
	}
	nackHost(p, "infra/web", nil)
	p.config.step()
	l.serves(t, p, "infra/web", "/good")
	if p.quarantine.Size().Reported != 0 {
		t.Errorf("the quarantine has %+v", p.quarantine.Size())
	}
}

func TestAReplicaThatKnowsNoGoodVersionTakesItOverHoweverFarItHasGone(t *testing.T) {
	t.Parallel()
	old, fresh := &recorder{live: true}, &recorder{}
	before, after := old.plane(t), fresh.plane(t)
	put(t, before, aRoute(1, "/good"))
	before.config.step()
	for _, p := range []*Pipeline{before, after} {
		put(t, p, aRoute(2, "/bad"))
		p.config.step()
		old.live = false
		nackHost(p, "infra/web", nil)
		p.config.step()
	}
	nackHost(after, "infra/web", nil)
	after.config.step()
	fresh.serves(t, after, "infra/web", "/ 500")
	refused := before.quarantine.RejectedDigest("HTTPRoute/infra/r", "infra/web")
	exchange := func() {
		t.Helper()
		forth, back := maps.Clone(old.offers), maps.Clone(fresh.offers)
		for key := range forth {
			after.Offered("before", key, refused, forth[key])
			before.Offered("after", key, refused, back[key])
		}
		before.config.step()
		after.config.step()
	}
	exchange()
	old.serves(t, before, "infra/web", "/good")
	fresh.serves(t, after, "infra/web", "/good")
	// What is refused at one is refused at the other, the good version too, and nothing is tried again.
	nackHost(after, "infra/web", nil)
	after.config.step()
	exchange()
	old.serves(t, before, "infra/web", "/ 500")
	fresh.serves(t, after, "infra/web", "/ 500")
}

func TestAnOfferOfAVersionThatIsNotSeenYetStays(t *testing.T) {
	t.Parallel()
	old, slow := &recorder{live: true}, &recorder{}
	before, after := old.plane(t), slow.plane(t)
	refuse := func(p *Pipeline, generation int, path string) {
		t.Helper()
		put(t, p, aRoute(generation, path))
		p.config.step()
		old.live = false
		nackHost(p, "infra/web", nil)
		p.config.step()
	}
	put(t, before, aRoute(1, "/good"))
	before.config.step()
	refuse(before, 2, "/bad")
	refuse(after, 2, "/bad")
	refuse(before, 3, "/worse")
	refused := before.quarantine.RejectedDigest("HTTPRoute/infra/r", "infra/web")
	for key, instead := range old.offers {
		after.Offered("before", key, refused, instead)
		// A third replica is behind, and has nothing there.
		after.Offered("third", key, "", nil)
	}
	after.config.step()
	slow.serves(t, after, "infra/web", "/bad 500")
	after.Put(store.Change{Kind: store.HTTPRoute, Key: "infra/r"})
	after.config.step()
	put(t, after, aRoute(3, "/worse"))
	after.config.step()
	after.config.step()
	slow.serves(t, after, "infra/web", "/good")
}

func TestARouteThatWasAnsweredBeforeWaitsOnceForAnotherReplica(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ status, reason string }{{"True", "Programmed"}, {"False", "Refused"}, {"False", "Pending"}} {
		synctest.Test(t, func(t *testing.T) {
			l := &recorder{}
			p := l.plane(t)
			refuse := func(generation int, path string) {
				t.Helper()
				put(t, p, reporting(aRoute(generation, path), test.status, test.reason))
				p.config.step()
				nackHost(p, "infra/web", nil)
				p.config.step()
			}
			refuse(2, "/bad")
			l.serves(t, p, "infra/web", "/bad")
			// It may count as live: it was when no listener served it.
			l.live = true
			p.config.step()
			time.Sleep(quarantine.OfferWait)
			p.config.step()
			l.serves(t, p, "infra/web", "/bad 500")
			refuse(3, "/worse")
			l.serves(t, p, "infra/web", "/worse 500")
			p.Put(store.Change{Kind: store.HTTPRoute, Key: "infra/r"})
			p.config.step()
			p.config.step()
			if p.quarantine.Size().Waiting != 0 {
				t.Errorf("the quarantine has %+v", p.quarantine.Size())
			}
		})
	}
}

// TestARouteThatWaitsForAnOfferDoesNotKeepItsHostOpen has proxies reject a policy on the Gateway too.
func TestARouteThatWaitsForAnOfferDoesNotKeepItsHostOpen(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	put(t, p, `
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {namespace: infra, name: cors, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  cors: {allowOrigins: ["https://a.example"]}
---`+reporting(routeFor("a", 2, "a.example", "/"), "True", "Programmed"))
	p.config.step()
	nackDomain(p, "a.example", func(r *xds.NACK) { r.Filters = true })
	nackDomain(p, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
	p.config.step()
	l.said = nil
	p.config.step()
	if got := hostVersion(p, "a.example"); got != "closed" {
		t.Errorf("the host has version %s", got)
	}
	if got := l.nackReports(); !slices.Contains(got, "SecurityPolicy infra/cors []") {
		t.Errorf("reported by %q", got)
	}
}
