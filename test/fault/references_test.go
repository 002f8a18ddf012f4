//go:build fault

package fault

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/jwt"
	"github.com/gatewright/gatewright/test/live"
)

// revocationLimit is how long a reference may be followed after its grant is gone.
const revocationLimit = time.Second

// TestCase37References follows every kind of reference to another namespace: without a ReferenceGrant, with grants that are about something
// else, with the right one, and after that is deleted. Each reference has a target of its own, so that grants do not depend on each other.
//
//nolint:paralleltest // it has a TLSRoute, and case 54 removes the definition of those
func TestCase37References(t *testing.T) {
	c := begin(t, "37", "references to other namespaces")
	r := newReferences(t)
	n := amount(200, 10)
	c.note("%d kinds of references", len(r.all))

	r.settle(t, "none")
	c.none(r.leaks(t, n), "leaks without a grant")
	wrong := r.grantWrongly(t)
	r.settle(t, "wrong")
	c.none(r.leaks(t, n), fmt.Sprintf("with %d wrong grants", wrong))

	grants := map[string]*gwv1.ReferenceGrant{}
	for _, ref := range r.all {
		grants[ref.name] = r.grant(ref)
		if err := r.Create(t.Context(), grants[ref.name]); err != nil {
			t.Fatal(err)
		}
	}
	c.none(r.follow(t, n), "of those that no grant allows")

	var slowest time.Duration
	var which string
	after := 0
	for _, ref := range r.all {
		took, leaks := r.revoke(t, ref, grants[ref.name], amount(50, 10))
		t.Logf("%s: followed for %s after its grant was deleted", ref.name, rounded(took))
		if took > slowest {
			slowest, which = took, ref.name
		}
		after += leaks
	}
	c.took(slowest, fmt.Sprintf("slowest revocation (%s)", which), revocationLimit)
	r.settle(t, "revoked")
	c.none(after+r.leaks(t, n), "after it")
	c.none(nacks(t, r.OneProxy(t, gatewayName)), "NACKs of the proxy")
}

// references is a Gateway and all that refers to another namespace.
type references struct {
	*fixture
	other *live.Fixture
	all   []reference
	// arrived counts what reaches the servers of the other namespace, by reference.
	arrived map[string]*atomic.Int64
	// round is in the path of requests, by which telemetry is told from that of earlier rounds.
	round atomic.Int64

	signer      jwt.Signer
	token       string
	authority   clientAuthority
	certificate tls.Certificate
	// selected is the address of a Gateway in the other namespace.
	selected    string
	http, http2 *http.Client
	replacer    *strings.Replacer
}

func newReferences(t *testing.T) *references {
	t.Helper()
	r := &references{
		fixture: &fixture{Fixture: live.New(t)}, other: live.New(t), all: referenceTable(), arrived: map[string]*atomic.Int64{},
		signer: jwt.New(t, "1"), authority: newClientAuthority(t),
	}
	r.token = r.signer.Bearer(map[string]any{"sub": "ali"})
	r.certificate = r.authority.issue(t, "client")
	r.http, r.http2 = askers()
	r.serve(t, r.Fixture, "here", http.HandlerFunc(echoRequest))
	port := r.serveMutually(t)
	r.replacer = strings.NewReplacer(
		"TARGET", "{name: NAME, namespace: "+r.other.Namespace+", port: 80}", "OTHER", r.other.Namespace, "OWN", r.Namespace,
		"PORT", fmt.Sprint(port), "ADDRESS", r.NodeAddress(t), "POD", r.other.Echo(t, serviceName, 1)[0].Status.PodIP,
	)
	r.other.EchoService(t, serviceName)
	for _, ref := range r.all {
		r.arrived[ref.name] = &atomic.Int64{}
		ref.target(t, r, ref.name)
	}
	r.Make(t, live.TLSSecret(t, "server", "*.ref.example.com"))
	r.trusted(t, "clients", []byte(r.authority.pem))
	r.make(t, r.Fixture, "plain", referencesGateway)
	for _, ref := range r.all {
		if ref.objects != "" {
			r.make(t, r.Fixture, ref.name, ref.objects)
		}
	}
	r.address = r.WaitProgrammed(t, &gwv1.Gateway{ObjectMeta: r.namespaced(gatewayName)})
	r.selected = r.other.WaitProgrammed(t, &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: r.other.Namespace, Name: "client-selector"}})
	return r
}

// make makes objects of text, in which NAME is the name of a reference and HOST the host of its requests.
func (r *references) make(t *testing.T, in *live.Fixture, name, text string) {
	t.Helper()
	// Two passes: what is inserted may have a name.
	text = strings.NewReplacer("NAME", name, "HOST", referenceHost(name)).Replace(r.replacer.Replace(text))
	makeYAML(t, in, text)
}

func referenceHost(name string) string { return name + ".ref.example.com" }

// settle waits until what was made before is in effect, as far as it ever is: a route that is made now is, and the limit has passed.
func (r *references) settle(t *testing.T, name string) {
	t.Helper()
	r.Route(t, "marker-"+name, gatewayName, referenceHost("marker-"+name), "here")
	r.WaitServed(t, r.address, referenceHost("marker-"+name))
	time.Sleep(revocationLimit)
}

// newRound has telemetry count that is about requests from now on.
func (r *references) newRound() { r.round.Add(1) }

// used asks once, and says whether the target of a reference is used.
func (r *references) used(ctx context.Context, ref reference) bool {
	before := r.arrived[ref.name].Load()
	if ref.ask(ctx, r, ref.name) {
		return true
	}
	for end := time.Now().Add(ref.late); ; time.Sleep(time.Millisecond) {
		if r.arrived[ref.name].Load() > before {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// leaks asks n times for each reference, and counts how often a target is used.
func (r *references) leaks(t *testing.T, n int) int {
	t.Helper()
	r.newRound()
	used, before := make([]int, len(r.all)), make([]int64, len(r.all))
	var late time.Duration
	for i, ref := range r.all {
		before[i], late = r.arrived[ref.name].Load(), max(late, ref.late)
	}
	inParallel(t.Context(), len(r.all), func(ctx context.Context, i int) error {
		for range n {
			if r.all[i].ask(ctx, r, r.all[i].name) {
				used[i]++
			}
		}
		return nil
	})
	time.Sleep(late)
	sum := 0
	for i, ref := range r.all {
		used[i] += int(r.arrived[ref.name].Load() - before[i])
		if used[i] > 0 {
			t.Errorf("reference %s: the target is used %d times", ref.name, used[i])
		}
		sum += used[i]
	}
	return sum
}

// follow waits until each reference is followed, and counts how often one is that no grant allows.
func (r *references) follow(t *testing.T, n int) int {
	t.Helper()
	r.newRound()
	for _, ref := range r.all {
		if ref.never {
			continue
		}
		live.Eventually(t, 30*time.Second, 20*time.Millisecond, func(ctx context.Context) error {
			if !r.used(ctx, ref) {
				return fmt.Errorf("reference %s has a grant and is not followed", ref.name)
			}
			return nil
		})
	}
	leaks := 0
	for _, ref := range r.all {
		for range n {
			if ref.never && r.used(t.Context(), ref) {
				leaks++
			}
		}
	}
	return leaks
}

// A proxy has taken up a change when so many requests in a row are refused, and the last begins so long after the first. Each worker thread
// takes it up by itself, when the main thread has handed it over and a processor is free. The kernel decides which of them gets a
// connection, so all requests of a few milliseconds may meet the same one. A request that is let through meanwhile counts as followed, and
// against the limit.
const (
	inARow     = 5
	takeUpTime = 50 * time.Millisecond
)

// revoke deletes the grant of a reference, and returns how long its target was still used, and how often after it was refused. What arrives
// too late to be timed is left to those that count leaks.
func (r *references) revoke(t *testing.T, ref reference, grant *gwv1.ReferenceGrant, more int) (took time.Duration, leaks int) {
	t.Helper()
	start := clock.Now()
	if err := r.Delete(t.Context(), grant); err != nil {
		t.Fatal(err)
	}
	if ref.late >= revocationLimit {
		return 0, 0
	}
	for refused, began := 0, time.Duration(0); refused < inARow || began < took+takeUpTime; refused++ {
		// What counts is when the first of them begins: one that a port does not answer takes long.
		began = clock.Since(start)
		if refused == 0 {
			took = began
		}
		if r.used(t.Context(), ref) {
			refused = -1
		}
		if began > 10*revocationLimit {
			t.Fatalf("reference %s is followed without a grant", ref.name)
		}
	}
	for range more {
		if r.used(t.Context(), ref) {
			t.Errorf("reference %s is followed after it was refused", ref.name)
			leaks++
		}
	}
	return took, leaks
}

// grant allows a reference.
func (r *references) grant(ref reference) *gwv1.ReferenceGrant {
	grant := &gwv1.ReferenceGrant{ObjectMeta: metav1.ObjectMeta{Namespace: r.other.Namespace, Name: ref.name}}
	grant.Spec.From = []gwv1.ReferenceGrantFrom{{
		Group: gwv1.Group(ref.from.group), Kind: gwv1.Kind(ref.from.kind), Namespace: gwv1.Namespace(r.Namespace),
	}}
	grant.Spec.To = []gwv1.ReferenceGrantTo{{
		Group: gwv1.Group(ref.to.group), Kind: gwv1.Kind(ref.to.kind), Name: new(gwv1.ObjectName(ref.name)),
	}}
	return grant
}

// wrongGrants are the ways in which a grant is not about a reference.
var wrongGrants = map[string]func(grant *gwv1.ReferenceGrant, own string){
	"from-namespace": func(g *gwv1.ReferenceGrant, _ string) { g.Spec.From[0].Namespace = "default" },
	"from-kind": func(g *gwv1.ReferenceGrant, _ string) {
		g.Spec.From[0].Group, g.Spec.From[0].Kind = gwv1.GroupName, otherThan(g.Spec.From[0].Kind, "HTTPRoute", "GRPCRoute")
	},
	"from-group": func(g *gwv1.ReferenceGrant, _ string) { g.Spec.From[0].Group = "example.com" },
	"to-kind": func(g *gwv1.ReferenceGrant, _ string) {
		g.Spec.To[0].Group, g.Spec.To[0].Kind = "", otherThan(g.Spec.To[0].Kind, "Service", "Secret")
	},
	"to-group":  func(g *gwv1.ReferenceGrant, _ string) { g.Spec.To[0].Group = "example.com" },
	"to-name":   func(g *gwv1.ReferenceGrant, _ string) { *g.Spec.To[0].Name += "-other" },
	"elsewhere": func(g *gwv1.ReferenceGrant, own string) { g.Namespace = own },
}

// otherThan is the first of two kinds, or the second if the first is the one.
func otherThan(kind, first, second gwv1.Kind) gwv1.Kind {
	if kind == first {
		return second
	}
	return first
}

// grantWrongly makes all wrong grants for each reference, and returns how many there are.
func (r *references) grantWrongly(t *testing.T) int {
	t.Helper()
	var list []client.Object
	for _, ref := range r.all {
		for name, spoil := range wrongGrants {
			grant := r.grant(ref)
			grant.Name += "-" + name
			spoil(grant, r.Namespace)
			list = append(list, grant)
		}
	}
	r.MakeMany(t, len(list), func(i int) client.Object { return list[i] })
	return len(list)
}
