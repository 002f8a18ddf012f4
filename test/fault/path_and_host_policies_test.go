//go:build fault

package fault

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

const (
	ruleHost = "rule.trick.example.com"
	pathHost = "route.trick.example.com"
	// denyPath is a policy that denies the guarded path, and nothing else.
	denyPath = `authorization: {defaultAction: Allow, rules: [{action: Deny, operation: {path: {value: ` + guardedPath + `}}}]}`
)

// parameterPaths are ways to write the guarded path for servers that cut off the parameters of segments, and what is behind an escaped
// question mark. Rules of routes match paths as they are written, so that only policies with the path know these.
var parameterPaths = []string{
	"/admin;a=b", "/admin;/x", "/admin;a=b;c/x", "/;a/admin", "/;/;/admin", "/q/..;/admin", "/.;/admin", "/q/%2e%2e;/admin", "/%2e;a=b/admin",
	"/q/..%3b/admin", "/q/%2E%2e%3Ba=b/admin", "/admin%3ba", "/admin%3B/x", "/admin;a%2fx", "/q;%2f..%2fadmin", "/admin%20", "/admin%3Fx",
	"/admin%3fx/y", "/admin%23x/y", "/admin%00x",
}

// policyGuards are places of policies that guard a path, each with the host that it is asked for, and the paths that it is asked for.
var policyGuards = []struct {
	name, host string
	port       int
	paths      []string
}{
	{"a rule", ruleHost, 80, trickPaths},
	{"a route", pathHost, 80, slices.Concat(trickPaths, parameterPaths)},
	{"a listener", guardedHost, 8080, slices.Concat(trickPaths, parameterPaths)},
	{"a listener that keeps slashes", guardedHost, 8081, slices.Concat(trickPaths, parameterPaths)},
}

// TestCase39PathAndHostNormalizationWithPolicies plays the tricks of case 39 where SecurityPolicies deny: everything of a rule, a path of a
// route, and a path of a listener, whatever its host is. Another such listener neither merges slashes nor decodes them.
func TestCase39PathAndHostNormalizationWithPolicies(t *testing.T) {
	t.Parallel()
	c := begin(t, "39 with policies", "path and host tricks")
	w := newFixture(t)
	var reached atomic.Int32
	counts := func(guarded func(*http.Request) bool) http.HandlerFunc {
		return func(_ http.ResponseWriter, request *http.Request) {
			if guarded(request) {
				reached.Add(1)
				t.Logf("%s with host %s reached the backend", request.RequestURI, request.Host)
			}
		}
	}
	w.ServeHere(t, "lenient", counts(func(r *http.Request) bool {
		return isGuarded(r, ruleHost, live.ServedPath) || isGuarded(r, pathHost, live.ServedPath) ||
			isGuarded(r, pathHost, live.ServedPathWithoutParameters)
	}))
	w.ServeHere(t, "open", counts(func(r *http.Request) bool {
		return isGuarded(r, "", live.ServedPath) || isGuarded(r, "", live.ServedPathWithoutParameters)
	}))
	address := w.policyTricks(t)
	for _, guard := range policyGuards {
		requests := 0
		before := reached.Load()
		at := net.JoinHostPort(address, fmt.Sprint(guard.port))
		for _, r := range plainTricks(guard.host, guard.paths) {
			if _, err := r.send(t.Context(), at); err != nil {
				t.Logf("%s: %v", r, err)
			}
			requests++
		}
		c.none(int(reached.Load()-before), fmt.Sprintf("of %s bypass the policy of %s", grouped(requests), guard.name))
	}
}

// policyTricks makes a Gateway with policies that guard, and waits until they do and the rest is served.
func (w *fixture) policyTricks(t *testing.T) string {
	t.Helper()
	gateway := live.GatewayOf(tricksGateway)
	for name, port := range map[gwv1.SectionName]gwv1.PortNumber{"normal": 8080, "keeping": 8081} {
		gateway.Spec.Listeners = append(gateway.Spec.Listeners, gwv1.Listener{Name: name, Port: port, Protocol: gwv1.HTTPProtocolType})
	}
	w.secure(t, "rule", "HTTPRoute", "rule", "", `authorization: {defaultAction: Deny}`)
	w.secure(t, "route", "HTTPRoute", "route", "", denyPath)
	w.secure(t, "normal", "Gateway", tricksGateway, "normal", denyPath)
	w.secure(t, "keeping", "Gateway", tricksGateway, "keeping", denyPath)
	keeping := &v1alpha1.ClientTrafficPolicy{ObjectMeta: metav1.ObjectMeta{Name: "keeping"}}
	readSettings(t, `path: {escapedSlashesAction: KeepUnchanged, disableMergeSlashes: true}`, &keeping.Spec)
	keeping.Spec.TargetRefs = targetOf("Gateway", tricksGateway, "keeping")
	w.Make(t, keeping)
	address := w.Programmed(t, gateway)

	guarded := live.HTTPRoute("rule", tricksGateway, ruleHost, "lenient")
	prefix := guardedPath
	guarded.Spec.Rules[0].Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &prefix}}}
	routes := []*gwv1.HTTPRoute{
		guarded,
		live.HTTPRoute("wide", tricksGateway, ruleHost, "lenient"),
		live.HTTPRoute("route", tricksGateway, pathHost, "lenient"),
		live.HTTPRoute("any", tricksGateway, "", "lenient"),
	}
	for _, route := range routes {
		route.Spec.ParentRefs[0].SectionName = new(gwv1.SectionName("http"))
	}
	for _, listener := range []gwv1.SectionName{"normal", "keeping"} {
		one, all := live.HTTPRoute("one-"+string(listener), tricksGateway, guardedHost, "open"), catchAll("all-"+string(listener), tricksGateway)
		all.Spec.Rules[0].BackendRefs[0].Name = "open"
		for _, route := range []*gwv1.HTTPRoute{one, all} {
			route.Spec.ParentRefs[0].SectionName = &listener
			routes = append(routes, route)
		}
	}
	routes[3].Spec.Hostnames = nil
	for _, route := range routes {
		w.Make(t, route)
	}
	w.waitGuarded(t, address)
	return address
}

func (w *fixture) waitGuarded(t *testing.T, address string) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		for _, guard := range policyGuards {
			at := net.JoinHostPort(address, fmt.Sprint(guard.port))
			for path, want := range map[string]int{"/": http.StatusOK, guardedPath: http.StatusForbidden} {
				if status, err := (trick{host: guard.host, path: path}).send(ctx, at); err != nil || status != want {
					return fmt.Errorf("%s of %s is answered %d, want %d: %w", path, guard.name, status, want, err)
				}
			}
			if status, err := (trick{host: "any.example.com", path: "/"}).send(ctx, at); err != nil || status != http.StatusOK {
				return fmt.Errorf("another host is answered %d: %w", status, err)
			}
		}
		return nil
	})
}

// secure makes a SecurityPolicy.
func (w *fixture) secure(t *testing.T, name, kind, target, section, settings string) {
	t.Helper()
	policy := &v1alpha1.SecurityPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	readSettings(t, settings, &policy.Spec)
	policy.Spec.TargetRefs = targetOf(kind, target, section)
	w.Make(t, policy)
}

// readSettings reads the settings of a policy into its spec.
func readSettings(t *testing.T, settings string, spec any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(settings), spec); err != nil {
		t.Fatalf("read the settings: %v", err)
	}
}

// targetOf is the target of a policy, a part of it if there is a section.
func targetOf(kind, name, section string) []gwv1.LocalPolicyTargetReferenceWithSectionName {
	target := gwv1.LocalPolicyTargetReferenceWithSectionName{LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{
		Group: gwv1.GroupName, Kind: gwv1.Kind(kind), Name: gwv1.ObjectName(name),
	}}
	if section != "" {
		target.SectionName = new(gwv1.SectionName(section))
	}
	return []gwv1.LocalPolicyTargetReferenceWithSectionName{target}
}
