package xds_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gatewright/gatewright/internal/xds"
)

// large is a note of which two do not fit into one response.
var large = strings.Repeat("x", 3<<20)

func TestALargeResponseIsCut(t *testing.T) {
	t.Parallel()
	t.Run("each part is sent when the one before is answered, and listeners after all of them", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			j := make(journal, 100)
			c := start(t, options{observer: j})
			changes := []xds.Change{listener(t, "l1", ""), cluster(t, group, "small", "")}
			for i := range 3 {
				changes = append(changes, cluster(t, group, fmt.Sprintf("c%d", i), large))
			}
			state := c.cache.Apply(changes)[group]
			p := c.connect(group)
			p.subscribe(clusterURL)
			p.subscribe(listenerURL)
			first := p.receive()
			check(t, first, clusterURL, []string{"c0"}, nil)
			p.hearsNothing()
			p.acknowledge(first)
			p.expect(clusterURL, []string{"c1"}, nil)
			last := p.receive()
			check(t, last, clusterURL, []string{"c2", "small"}, nil)
			p.hearsNothing()
			p.acknowledge(last)
			j.expect(t, "connected "+group.String())
			j.nothing(t)
			p.expect(listenerURL, []string{"l1"}, nil)
			j.expect(t, "holds "+state)
		})
	})
	t.Run("a NACK concerns one part", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			j := make(journal, 100)
			c := start(t, options{observer: j})
			c.cache.Apply([]xds.Change{secret(t, group, "s0", large), secret(t, group, "s1", large), secret(t, group, "s2", large)})
			p := c.connect(group)
			p.subscribe(secretURL, "s0", "s1", "s2")
			p.expect(secretURL, []string{"s0"}, nil)
			second := p.receive()
			check(t, second, secretURL, []string{"s1"}, nil)
			p.refuse(second, "no")
			j.expect(
				t, "connected "+group.String(),
				"refused secret  s1 []: the proxy rejected it (NACK); its reason is not repeated, since it may quote the secret",
			)
			p.expect(secretURL, []string{"s2"}, nil)
			p.hearsNothing()
			j.nothing(t)
		})
	})
	t.Run("what changes meanwhile is sent behind it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			c.cache.Apply([]xds.Change{secret(t, group, "s0", large), secret(t, group, "s1", large), secret(t, group, "s2", "")})
			p := c.connect(group)
			p.subscribe(secretURL, "s0", "s1")
			first := p.receive()
			check(t, first, secretURL, []string{"s0"}, nil)
			c.cache.Apply([]xds.Change{secret(t, group, "s0", "new"), secret(t, group, "s1", "new")})
			p.acknowledge(first)
			p.expect(secretURL, []string{"s1"}, nil)
			p.expect(secretURL, []string{"s0", "s1"}, nil)
			p.hearsNothing()
		})
	})
	t.Run("endpoints follow their clusters", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			p := boot(t, c)
			c.cache.Apply([]xds.Change{cluster(t, group, "c1", large), cluster(t, group, "c2", large)})
			for _, name := range []string{"c1", "c2"} {
				clusters, endpoints := p.receive(), p.receive()
				check(t, clusters, clusterURL, []string{name}, nil)
				check(t, endpoints, endpointURL, []string{"eds/" + name}, nil)
				p.acknowledge(endpoints)
				p.hearsNothing()
				p.acknowledge(clusters)
			}
			p.hearsNothing()
		})
	})
	t.Run("but listeners are sent together", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			p := boot(t, c)
			c.cache.Apply([]xds.Change{removed(listener(t, "l1", "")), listener(t, "l2", large), listener(t, "l3", large)})
			p.expect(listenerURL, []string{"l2", "l3"}, []string{"l1"})
		})
	})
}

func TestEachPartOfTheFirstScopesHasASalt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply([]xds.Change{table(t, group, "t1"), host(t, "a.example", large), host(t, "b.example", large)})
		p := c.connect(group)
		p.subscribe(clusterURL)
		p.expect(clusterURL, nil, nil)
		p.subscribe(scopeURL)
		for _, names := range [][]string{{"t1|*"}, {"t1|a.example"}, {"t1|b.example"}} {
			for _, scope := range p.expect(scopeURL, names, nil).GetResources() {
				if !strings.Contains(string(scope.GetResource().GetValue()), "salt-") {
					t.Errorf("%s has no salt", scope.GetName())
				}
			}
		}
	})
}
