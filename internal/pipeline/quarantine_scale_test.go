package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/xds"
)

// TestAStepHasNoWorkWithHostsInQuarantine has proxies reject a policy on a Gateway with many hosts: all of them, or one that is outdated.
// The policy reports all hosts in one line.
func TestAStepHasNoWorkWithHostsInQuarantine(t *testing.T) {
	t.Parallel()
	const count = 2000
	for _, outdated := range []bool{false, true} {
		t.Run(fmt.Sprint("outdated ", outdated), func(t *testing.T) {
			t.Parallel()
			l, proxies := &recorder{live: true, acked: outdated}, &insteads{Cache: xds.NewCache()}
			p := l.planeOf(t, proxies)
			put(t, p, `
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {namespace: infra, name: cors, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  cors: {allowOrigins: ["https://a.example"]}
`)
			for i := range count {
				put(t, p, routeFor(fmt.Sprintf("r%d", i), 1, fmt.Sprintf("h%d.example", i), "/"))
			}
			p.config.step()
			l.live = false
			for i := range count {
				nackDomain(p, fmt.Sprintf("h%d.example", i), func(r *xds.NACK) { r.Filters = true })
			}
			p.config.step()
			l.said = nil
			p.config.step()
			about := slices.DeleteFunc(slices.Clone(l.said), func(s string) bool { return !strings.HasPrefix(s, "refuse SecurityPolicy") })
			want := fmt.Sprintf("rejected (NACK) host h0.example and %d more of listener http", count-1)
			if len(about) != 1 || !strings.Contains(about[0], want) || strings.Contains(about[0], "\n") {
				t.Errorf("the policy reports %q", about)
			}
			if outdated != (len(proxies.hosts) == count) {
				t.Errorf("proxies get something instead of %d hosts", len(proxies.hosts))
			}

			made := len(proxies.hosts)
			put(t, p, routeFor("other", 1, "other.example", "/"))
			report := p.config.step()
			for stage, n := range report.Computed {
				if n > 1 {
					t.Errorf("stage %s computed %d values", stage, n)
				}
			}
			if len(proxies.hosts) != made {
				t.Errorf("proxies were given something instead of %d hosts again", len(proxies.hosts)-made)
			}
		})
	}
}

// TestATextHasALimitedNumberOfLines has more messages than are worth reading.
func TestATextHasALimitedNumberOfLines(t *testing.T) {
	t.Parallel()
	var messages []string
	for i := range 10_000 {
		messages = append(messages, fmt.Sprintf("line %05d", 9_999-i), "line 00007")
	}
	got := strings.Split(text(messages), "\n")
	if len(got) != maxLines+1 || got[8] != "line 00008" || got[maxLines] != fmt.Sprintf("and %d more", 10_000-maxLines) {
		t.Errorf("the lines are %q", got)
	}
}
