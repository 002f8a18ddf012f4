package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

const header = `
kind: Gateway
metadata: {namespace: infra, name: gw, uid: u, generation: 3}
spec:
  gatewayClassName: ours
`

// resolve resolves the Gateway infra/gw of class `ours`.
func resolve(t *testing.T, text string) gateway.Resolved {
	t.Helper()
	objects := resolvetest.Objects(t, text)
	classes := store.NewTable[class.Resolved](store.New(), "class")
	classes.Set("ours", class.Resolved{Ours: true})
	return gateway.Resolve(nil, objects, classes, "infra/gw")
}

func TestListenerConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, listeners string
		listener        int
		condition       string
		state           outcome.State
		reason          string
	}{
		{"a plain HTTP listener is accepted", `[{name: a, port: 80, protocol: HTTP}]`, 0, "Accepted", outcome.True, "Accepted"},
		{
			"a protocol that is not served is refused", `[{name: a, port: 80, protocol: SCTP}]`, 0, "Accepted", outcome.False,
			"UnsupportedProtocol",
		},
		{
			"a filter that is not served is refused with the listener",
			`[{name: a, port: 80, protocol: HTTP, filters: {requests: [{type: ExtensionRef, extensionRef: {group: x.org, kind: Thing, name: t}}]}}]`,
			0, "Accepted", outcome.False, "UnsupportedValue",
		},
		{
			"a filter of requests where there are none is refused",
			`[{name: a, port: 80, protocol: TCP, filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: none, port: 80}}}]}}]`,
			0, "Accepted", outcome.False, "InvalidListenerFilter",
		},
		{
			"a filter that speaks nothing known is refused",
			`[{name: a, port: 80, protocol: HTTP, filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: FTP, backendRef: {name: none, port: 80}}}]}}]`,
			0, "Accepted", outcome.False, "InvalidListenerFilter",
		},
		{
			"a filter whose backend is not there is told, and the listener stays",
			`[{name: a, port: 80, protocol: HTTP, filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: none, port: 80}}}]}}]`,
			0, "ResolvedRefs", outcome.False, "InvalidListenerFilterRef",
		},
		{
			"a filter whose backend is elsewhere needs a grant",
			`[{name: a, port: 80, protocol: HTTP, filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: none, namespace: app, port: 80}}}]}}]`,
			0, "ResolvedRefs", outcome.False, "RefNotPermitted",
		},
		{"the probe's port is taken", `[{name: a, port: 19001, protocol: HTTP}]`, 0, "Accepted", outcome.False, "PortUnavailable"},
		{
			"of two listeners for one hostname the first wins",
			`[{name: a, port: 80, protocol: HTTP, hostname: x.org}, {name: b, port: 80, protocol: HTTP, hostname: x.org}]`,
			0, "Accepted", outcome.True, "Accepted",
		},
		{
			"of two listeners for one hostname the second loses",
			`[{name: a, port: 80, protocol: HTTP, hostname: x.org}, {name: b, port: 80, protocol: HTTP, hostname: X.org}]`,
			1, "Conflicted", outcome.True, "HostnameConflict",
		},
		{
			"two protocols cannot share a port",
			`[{name: a, port: 80, protocol: HTTP}, {name: b, port: 80, protocol: HTTPS, hostname: y.org}]`,
			1, "Accepted", outcome.False, "ProtocolConflict",
		},
		{
			"who lost a conflict takes no other with it",
			`[{name: a, port: 80, protocol: HTTP}, {name: b, port: 80, protocol: HTTPS, hostname: y.org}, {name: c, port: 80, protocol: HTTP, hostname: y.org}]`,
			2, "Accepted", outcome.True, "Accepted",
		},
		{"HTTPS needs a certificate", `[{name: a, port: 443, protocol: HTTPS}]`, 0, "ResolvedRefs", outcome.False, "InvalidCertificateRef"},
		{
			"a missing Secret leaves the listener accepted", `[{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: none}]}}]`,
			0, "Accepted", outcome.True, "Accepted",
		},
		{
			"a Secret elsewhere needs a grant", `[{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: s, namespace: other}]}}]`,
			0, "ResolvedRefs", outcome.False, "RefNotPermitted",
		},
		{
			"a kind that is not served is named", `[{name: a, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: TCPRoute}]}}]`,
			0, "ResolvedRefs", outcome.False, "InvalidRouteKinds",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkCondition(t, c.listeners, c.listener, c.condition, c.state, c.reason)
		})
	}
}

// checkCondition resolves a Gateway with these listeners and looks at a condition of one.
func checkCondition(t *testing.T, listeners string, listener int, condition string, state outcome.State, reason string) {
	t.Helper()
	r := resolve(t, header+"  listeners: "+listeners)
	for _, c := range r.Listeners[listener].Conditions {
		if c.Type != condition {
			continue
		}
		if c.State != state || c.Reason != reason {
			t.Errorf("%s is %s (%s: %s), want %s (%s)", condition, c.State, c.Reason, c.Message, state, reason)
		}
		return
	}
	t.Errorf("there is no condition %s", condition)
}

func TestProtocols(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, listeners string
		listener        int
		condition       string
		state           outcome.State
		reason          string
	}{
		{
			"HTTPS and TLS share a port for different hostnames",
			`[{name: a, port: 443, protocol: HTTPS, hostname: a.org}, {name: b, port: 443, protocol: TLS, hostname: b.org, tls: {mode: Passthrough}}]`,
			1, "Accepted", outcome.True, "Accepted",
		},
		{
			"HTTPS and TLS cannot share a hostname",
			`[{name: a, port: 443, protocol: HTTPS, hostname: a.org}, {name: b, port: 443, protocol: TLS, hostname: a.org, tls: {mode: Passthrough}}]`,
			1, "Conflicted", outcome.True, "ProtocolConflict",
		},
		{
			"TCP shares its port with no other", `[{name: a, port: 443, protocol: TCP}, {name: b, port: 443, protocol: HTTPS, hostname: a.org}]`,
			1, "Conflicted", outcome.True, "ProtocolConflict",
		},
		{
			"hostnames do not tell TCP listeners " +
				"apart", `[{name: a, port: 9000, protocol: TCP}, {name: b, port: 9000, protocol: TCP, hostname: a.org}]`,
			1, "Conflicted", outcome.True, "HostnameConflict",
		},
		{
			"UDP and TCP of one number are two ports", `[{name: a, port: 53, protocol: TCP}, {name: b, port: 53, protocol: UDP}]`,
			1, "Accepted", outcome.True, "Accepted",
		},
		{"the probe's port is free for UDP", `[{name: a, port: 19001, protocol: UDP}]`, 0, "Accepted", outcome.True, "Accepted"},
		{
			"TLS that ends here needs a certificate", `[{name: a, port: 443, protocol: TLS, tls: {}}]`, 0, "ResolvedRefs", outcome.False,
			"InvalidCertificateRef",
		},
		{
			"TLS that passes through needs none", `[{name: a, port: 443, protocol: TLS, tls: {mode: Passthrough}}]`, 0, "ResolvedRefs",
			outcome.True, "ResolvedRefs",
		},
		{
			"a TCPRoute cannot be behind TLS that passes through",
			`[{name: a, port: 443, protocol: TLS, tls: {mode: Passthrough}, allowedRoutes: {kinds: [{kind: TCPRoute}]}}]`,
			0, "ResolvedRefs", outcome.False, "InvalidRouteKinds",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkCondition(t, c.listeners, c.listener, c.condition, c.state, c.reason)
		})
	}
}

func TestAcceptance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spec, reason string
		state              outcome.State
		ports              int
	}{
		{"valid listeners", "  listeners: [{name: a, port: 80, protocol: HTTP}]", "Accepted", outcome.True, 1},
		{
			"one of two", "  listeners: [{name: a, port: 80, protocol: HTTP}, {name: b, port: 81, protocol: X}]", "ListenersNotValid",
			outcome.True, 1,
		},
		{"none", "  listeners: [{name: b, port: 81, protocol: X}]", "ListenersNotValid", outcome.False, 0},
		{
			"a name as address", "  listeners: [{name: a, port: 80, protocol: HTTP}]\n  addresses: [{type: Hostname, value: x.org}]",
			"UnsupportedAddress", outcome.False, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := resolve(t, header+c.spec)
			if r.Accepted.State != c.state || r.Accepted.Reason != c.reason || len(r.Gateway.Ports) != c.ports {
				t.Errorf("got %+v with %d ports", r.Accepted, len(r.Gateway.Ports))
			}
		})
	}
}

func TestAForeignClassIsNotOurs(t *testing.T) {
	t.Parallel()
	objects := resolvetest.Objects(t, "kind: GatewayClass\nmetadata: {name: c}\nspec: {controllerName: example.com/x}")
	if class.Resolve(nil, objects, "c").Ours {
		t.Error("a foreign GatewayClass is ours")
	}
}

func TestAnInstallationServesTheClassesThatNameIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, controller string
		ours             bool
	}{
		{"the default name", "", false},
		{"its own name", "example.com/x", true},
		{"another name", "example.com/y", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects := resolvetest.Objects(t, "kind: GatewayClass\nmetadata: {name: c}\nspec: {controllerName: example.com/x}")
			objects.Controller = gwv1.GatewayController(c.controller)
			if class := class.Resolve(nil, objects, "c"); class.Ours != c.ours || class.Foreign == c.ours {
				t.Errorf("got %+v", class)
			}
		})
	}
}

func TestReleasedGateways(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, class, fleet string
		generation         int64
	}{
		{"with a class of another controller no fleet stays, and what is said of this generation is the other's", "theirs", "", 3},
		{"without a class the fleet stays and nothing is said", "none", "gw-none", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects := resolvetest.Objects(t, strings.Replace(header, "ours", c.class, 1)+"  listeners: [{name: a, port: 80, protocol: HTTP}]")
			classes := store.NewTable[class.Resolved](store.New(), "class")
			classes.Set("theirs", class.Resolved{Foreign: true})
			r := gateway.Resolve(nil, objects, classes, "infra/gw")
			if r.Ours || r.Serves || r.Gateway.Fleet.Name != c.fleet || r.Gateway.Fleet.UID != "u" || r.Generation != c.generation {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestOverlapsSayWhatBecomesOfRequests(t *testing.T) {
	t.Parallel()
	const (
		misdirected = ", and HTTP requests that come by the wrong one are answered 421"
		unseen      = ", and a TLS listener does not see which hostname a request is for"
		unguarded   = "; HTTP requests that come by this one are its own, also those for a hostname of a TLS listener"
	)
	const hostnames = `
    - {name: wide, port: 443, protocol: %s, hostname: "*.org", tls: {%s}}
    - {name: narrow, port: 443, protocol: %s, hostname: a.org, tls: {%s}}
    - {name: narrower, port: 443, protocol: %s, hostname: "*.b.org", tls: {%s}}
`
	tls := map[string]string{"HTTPS": "", "TLS": "mode: Passthrough"}
	for _, c := range []struct{ wide, narrow, narrower, ofWide, ofNarrow string }{
		{"HTTPS", "HTTPS", "HTTPS", misdirected, misdirected},
		{"HTTPS", "TLS", "TLS", unguarded, unseen},
		{"HTTPS", "HTTPS", "TLS", misdirected + unguarded, misdirected},
		{"TLS", "HTTPS", "HTTPS", unseen, unguarded},
		{"TLS", "TLS", "TLS", unseen, unseen},
	} {
		r := resolve(t, header+"  listeners:"+fmt.Sprintf(hostnames, c.wide, tls[c.wide], c.narrow, tls[c.narrow], c.narrower, tls[c.narrower]))
		for i, want := range []string{c.ofWide, c.ofNarrow} {
			got := r.Listeners[i].Conditions[len(r.Listeners[i].Conditions)-1]
			if got.Type != "OverlappingTLSConfig" || !strings.HasSuffix(got.Message, ": a client may use one connection for both"+want) {
				t.Errorf("%s beside %s and %s: listener %d says %q, want %q", c.wide, c.narrow, c.narrower, i, got.Message, want)
			}
		}
	}
}
