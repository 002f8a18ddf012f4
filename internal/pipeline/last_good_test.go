package pipeline

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/store"
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
	l := &listening{}
	p := l.plane(t)
	for _, object := range []string{
		reporting(aRoute(1, "/good"), "True", "Programmed"),
		reporting(strings.Replace(aRoute(1, "/good"), "name: r,", "name: r, labels: {a: b},", 1), "False", "Pending"),
		reporting(aRoute(2, "/bad"), "False", "Pending"),
	} {
		put(t, p, object)
		p.config.step()
	}
	if len(p.quarantine.reported) != 1 {
		t.Errorf("reported is %v", p.quarantine.reported)
	}
	refuseHost(p, "infra/web", nil)
	p.config.step()
	l.serves(t, p, "infra/web", "/good")
	if len(p.quarantine.reported) != 0 {
		t.Errorf("reported is %v", p.quarantine.reported)
	}
}

func TestAReplicaThatKnowsNoGoodVersionTakesItOverHoweverFarItHasGone(t *testing.T) {
	t.Parallel()
	old, fresh := &listening{live: true}, &listening{}
	before, after := old.plane(t), fresh.plane(t)
	put(t, before, aRoute(1, "/good"))
	before.config.step()
	for _, p := range []*Pipeline{before, after} {
		put(t, p, aRoute(2, "/bad"))
		p.config.step()
		old.live = false
		refuseHost(p, "infra/web", nil)
		p.config.step()
	}
	refuseHost(after, "infra/web", nil)
	after.config.step()
	fresh.serves(t, after, "infra/web")
	refused := digestOf(before.quarantine.routes[place{"HTTPRoute/infra/r", "infra/web"}].refused.Rules)
	exchange := func() {
		t.Helper()
		forth, back := maps.Clone(old.offers), maps.Clone(fresh.offers)
		for key := range forth {
			after.Offered(key, refused, forth[key])
			before.Offered(key, refused, back[key])
		}
		before.config.step()
		after.config.step()
	}
	exchange()
	old.serves(t, before, "infra/web", "/good")
	fresh.serves(t, after, "infra/web", "/good")
	// What is refused at one is refused at the other, the good version too, and nothing is tried again.
	refuseHost(after, "infra/web", nil)
	after.config.step()
	exchange()
	old.serves(t, before, "infra/web")
	fresh.serves(t, after, "infra/web")
}

func TestARouteThatWasJudgedBeforeWaitsOnceForAnotherReplica(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ status, reason string }{{"True", "Programmed"}, {"False", "Refused"}, {"False", "Pending"}} {
		synctest.Test(t, func(t *testing.T) {
			l := &listening{}
			p := l.plane(t)
			refuse := func(generation int, path string) {
				t.Helper()
				put(t, p, reporting(aRoute(generation, path), test.status, test.reason))
				p.config.step()
				refuseHost(p, "infra/web", nil)
				p.config.step()
			}
			refuse(2, "/bad")
			l.serves(t, p, "infra/web", "/bad")
			// It may count as live: it was when no listener served it.
			l.live = true
			p.config.step()
			time.Sleep(offerPatience)
			p.config.step()
			l.serves(t, p, "infra/web", "/bad 500")
			refuse(3, "/worse")
			l.serves(t, p, "infra/web", "/worse 500")
			p.Put(store.Change{Kind: store.HTTPRoute, Key: "infra/r"})
			p.config.step()
			p.config.step()
			if len(p.quarantine.patience) != 0 {
				t.Errorf("patience is %v", p.quarantine.patience)
			}
		})
	}
}
