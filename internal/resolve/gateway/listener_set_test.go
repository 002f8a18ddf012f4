package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/gateway"
)

// takes is a Gateway infra/gw that takes ListenerSets of its own namespace.
const takes = header + `  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: http, port: 80, protocol: HTTP, hostname: gw.org}]
---
`

// set is a ListenerSet of infra/gw with the given age, which is a day of January.
func set(key, day, listeners string) string {
	namespace, name, _ := strings.Cut(key, "/")
	return "kind: ListenerSet\n" +
		"metadata: {namespace: " + namespace + ", name: " + name + ", creationTimestamp: \"2026-01-" + day + "T00:00:00Z\"}\n" +
		"spec:\n  parentRef: {namespace: infra, name: gw}\n  listeners: " + listeners + "\n---\n"
}

// open lists the IDs of the listeners that routes may attach to, in order.
func open(r gateway.Resolved) string {
	var ids []string
	for _, l := range r.Listeners {
		if l.Attachable {
			ids = append(ids, l.ID)
		}
	}
	return strings.Join(ids, " ")
}

func TestListenersOfSetsStandBehindTheGatewaysOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, objects, open string }{
		{
			"the oldest ListenerSet comes first, then by name",
			set("infra/b", "02", "[{name: x, port: 81, protocol: HTTP}]") + set("infra/a", "02", "[{name: x, port: 82, protocol: HTTP}]") +
				set("infra/z", "01", "[{name: x, port: 83, protocol: HTTP}]"),
			"http infra/z/x infra/a/x infra/b/x",
		},
		{
			"within one the list's order counts",
			set("infra/a", "01", "[{name: w, port: 81, protocol: HTTP}, {name: x, port: 81, protocol: HTTP}]"),
			"http infra/a/w",
		},
		{
			"the Gateway's own listener wins whatever its age",
			set("infra/a", "01", "[{name: x, port: 80, protocol: HTTP, hostname: gw.org}, {name: w, port: 80, protocol: HTTP, hostname: a.org}]"),
			"http infra/a/w",
		},
		{
			"names may repeat",
			set("infra/a", "01", "[{name: http, port: 80, protocol: HTTP, hostname: a.org}]"), "http infra/a/http",
		},
		{
			"a listener that is not served takes nothing from one that is",
			set("infra/a", "01", "[{name: x, port: 81, protocol: SCTP}]") + set("infra/b", "02", "[{name: x, port: 81, protocol: HTTP}]"),
			"http infra/b/x",
		},
		{
			"a ListenerSet that is not taken has no say in conflicts",
			set("web/a", "01", "[{name: x, port: 81, protocol: HTTP}]") + set("infra/b", "02", "[{name: x, port: 81, protocol: HTTP}]"),
			"http infra/b/x",
		},
		{
			"a listener that waits for its certificate keeps its place",
			set("infra/a", "01", "[{name: x, port: 443, protocol: HTTPS}, {name: w, port: 81, protocol: HTTP}]") +
				set("infra/b", "02", "[{name: x, port: 443, protocol: HTTP}]"),
			"http infra/a/x infra/a/w",
		},
		{
			"a ListenerSet with nothing to serve is closed altogether",
			set("infra/a", "01", "[{name: x, port: 443, protocol: HTTPS}]"), "http",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := open(resolve(t, takes+c.objects)); got != c.open {
				t.Errorf("open are %q, want %q", got, c.open)
			}
		})
	}
}

func TestSetConditions(t *testing.T) {
	t.Parallel()
	good := set("infra/a", "01", "[{name: x, port: 81, protocol: HTTP}]")
	allow := func(rule string) string {
		return header + "  allowedListeners: " + rule + "\n  listeners: [{name: http, port: 80, protocol: HTTP}]\n---\n"
	}
	for _, c := range []struct{ name, objects, reason, message string }{
		{
			"by default none is taken", header + "  listeners: [{name: http, port: 80, protocol: HTTP}]\n---\n" + good, "NotAllowed",
			"allowedListeners",
		},
		{"nor by an empty rule", allow("{}") + good, "NotAllowed", "allowedListeners"},
		{"from the same namespace", allow("{namespaces: {from: Same}}") + good, "Accepted", "valid"},
		{"from all", allow("{namespaces: {from: All}}") + set("web/a", "01", "[{name: x, port: 81, protocol: HTTP}]"), "Accepted", "valid"},
		{
			"from a selected namespace that is not there", allow("{namespaces: {from: Selector, selector: {matchLabels: {a: b}}}}") + good,
			"NotAllowed", "infra",
		},
		{
			"by a selector that is none", allow("{namespaces: {from: Selector, selector: {matchExpressions: [{key: a, operator: Bad}]}}}") + good,
			"NotAllowed", "selector",
		},
		{
			"a Gateway that is not accepted", header + "  allowedListeners: {namespaces: {from: Same}}\n  listeners: [{name: a, port: 81, " +
				"protocol: SCTP}]\n---\n" + good,
			"ParentNotAccepted", "no listener can be served",
		},
		{
			"one of two listeners", takes + set("infra/a", "01", "[{name: x, port: 81, protocol: HTTP}, {name: w, port: 82, protocol: SCTP}]"),
			"ListenersNotValid", "1 of 2",
		},
		{
			"no listener that can be served", takes + set("infra/a", "01", "[{name: x, port: 81, protocol: SCTP}]"), "ListenersNotValid",
			"no listener",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := resolve(t, c.objects)
			if len(r.Sets) != 1 {
				t.Fatalf("got %d ListenerSets, want 1", len(r.Sets))
			}
			if got := r.Sets[0].Accepted; got.Reason != c.reason || !strings.Contains(got.Message, c.message) {
				t.Errorf("got %+v, want reason %s and %q in the message", got, c.reason, c.message)
			}
		})
	}
}

func TestAParentOfAnotherKindIsNoGateway(t *testing.T) {
	t.Parallel()
	r := resolve(
		t,
		takes+strings.Replace(
			set("infra/a", "01", "[{name: x, port: 81, protocol: HTTP}]"),
			"parentRef: {",
			"parentRef: {kind: Service, group: core, ",
			1,
		),
	)
	if len(r.Sets) != 0 {
		t.Errorf("got %v, want no ListenerSet", r.Sets)
	}
}

func TestASiblingOfAnotherNamespaceStaysNameless(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, theirs, ours string }{
		{"that won a conflict", "[{name: x, port: 81, protocol: HTTP}]", "[{name: x, port: 81, protocol: HTTP}]"},
		{"that has hostnames in common", "[{name: x, port: 443, protocol: HTTPS}]", "[{name: x, port: 443, protocol: HTTPS, hostname: a.org}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := resolve(t, strings.Replace(takes, "from: Same", "from: All", 1)+set("secret/plans", "01", c.theirs)+set("infra/b", "02", c.ours))
			i := slices.IndexFunc(r.Listeners, func(l gateway.Listener) bool { return l.ID == "infra/b/x" })
			for _, condition := range r.Listeners[i].Conditions {
				if strings.Contains(condition.Message, "secret") || strings.Contains(condition.Message, "plans") {
					t.Errorf("%s tells of a sibling: %s", condition.Type, condition.Message)
				}
			}
		})
	}
}
