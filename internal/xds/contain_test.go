package xds_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/xds"
)

// broken is an observer that panics for one proxy, while the cache is locked.
type broken struct {
	journal
	holds, leaves bool
}

const unlucky = "unlucky"

func (b broken) Holds(p xds.Identity, _ string) {
	if b.holds && p.Pod == unlucky {
		panic("holds")
	}
	b.journal <- "holds " + p.Pod
}

func (b broken) Leaves(p xds.Identity) {
	if b.leaves && p.Pod == unlucky {
		panic("leaves")
	}
}

func TestAPanicEndsTheStreamItIsAbout(t *testing.T) {
	t.Parallel()
	for name, observer := range map[string]broken{
		"in the stream's own work":             {holds: true},
		"in the work of who changes a Gateway": {leaves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				observer.journal = make(journal, 1000)
				log := &logged{}
				c := start(t, options{observer: observer, log: log})
				proxies := map[string]*proxy{}
				for _, name := range []string{pod, unlucky} {
					p := c.connectAs(name)
					proxies[name] = p
					p.subscribe(clusterURL)
					p.expect(clusterURL, nil, nil)
					p.subscribe(listenerURL)
					p.expect(listenerURL, nil, nil)
					observer.expect(t, "connected "+group.String())
					if name == pod || !observer.holds {
						observer.expect(t, "holds "+name)
					}
				}
				lucky, bad := proxies[pod], proxies[unlucky]
				if observer.leaves {
					c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
					lucky.expect(clusterURL, []string{"c1"}, nil)
				}
				select {
				case _, more := <-bad.responses:
					if more || status.Code(bad.ended) != codes.Internal {
						t.Errorf("the stream ended with %v", bad.ended)
					}
				case <-time.After(timeout):
					t.Fatal("the stream goes on")
				}
				c.wait("gatewright_xds_connected_proxies", 1)
				c.cache.Apply([]xds.Change{cluster(t, group, "c2", "")})
				lucky.expect(clusterURL, []string{"c2"}, nil)
				if count := c.measured()["gatewright_xds_panics_total"]; count != 1 {
					t.Errorf("%v panics were counted", count)
				}
				if text := log.String(); !strings.Contains(text, "contain_test.go") || !strings.Contains(text, unlucky) {
					t.Errorf("logged: %s", text)
				}
			})
		})
	}
}
