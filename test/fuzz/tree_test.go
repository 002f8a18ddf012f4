//go:build fuzz

package fuzz

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/gatewright/gatewright/internal/ir"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

var (
	trees    = flag.Int("trees", 300, "how many sets of rules to compare as lists and as trees")
	requests = flag.Int("requests", 200, "how many requests each set is asked")
)

// hostsAtOnce is how many sets one Envoy is started with.
const hostsAtOnce = 300

// TestATreeAnswersAsTheListDoes asks one live Envoy everything twice: where the rules of a host are a list, which is how the standard's
// order of precedence is meant, and where they are a tree. Rules come in any order and overlap a lot.
func TestATreeAnswersAsTheListDoes(t *testing.T) {
	t.Parallel()
	asked, matched, planted := 0, 0, 0
	start := time.Now()
	for n := 0; n < *trees; n += hostsAtOnce {
		rules := make([]ruleset, 0, hostsAtOnce)
		var lists, forms []*routev3.VirtualHost
		for i := n; i < min(n+hostsAtOnce, *trees); i++ {
			set := newRuleset(*seed, uint64(i))
			rules = append(rules, set)
			list, form := set.list(t), set.host(t, set.rules)
			if form.GetMatcher() != nil {
				planted++
			}
			lists, forms = append(lists, list), append(forms, form)
		}
		a, m := compareForms(t, rules, lists, forms)
		asked, matched = asked+a, matched+m
	}
	if planted < *trees/3 {
		t.Errorf("only %d of %d sets became trees", planted, *trees)
	}
	t.Logf(
		"%d requests to each form of %d sets, %d of them trees; %d found a rule; %s", asked, *trees, planted, matched,
		time.Since(start).Round(time.Millisecond),
	)
}

func compareForms(t *testing.T, rules []ruleset, lists, forms []*routev3.VirtualHost) (asked, matched int) {
	t.Helper()
	directory := t.TempDir()
	listSocket, treeSocket := filepath.Join(directory, "list.sock"), filepath.Join(directory, "tree.sock")
	e := launch(t, directory, &bootstrapv3.Bootstrap{StaticResources: &bootstrapv3.Bootstrap_StaticResources{
		Listeners: []*listenerv3.Listener{serving(listSocket, lists), serving(treeSocket, forms)},
	}})
	defer e.stop()
	list, tree := dial(t, e, listSocket), dial(t, e, treeSocket)
	for i := range rules {
		for range *requests {
			r := rules[i].request()
			want, got := list.ask(t, r), tree.ask(t, r)
			asked++
			if want.found() {
				matched++
			}
			if want != got {
				t.Fatalf("set %d of seed %d: %s\nthe list answers %+v\nthe tree answers %+v\n%s", rules[i].number, *seed, r, want, got, rules[i])
			}
		}
	}
	return asked, matched
}

// ruleset is rules for one host.
type ruleset struct {
	number uint64
	dice   *rand.Rand
	rules  []ir.Rule
	// conditions, expressions and rewrites are how many of ten rules have any, and roots how many that could be for any path are.
	conditions, expressions, rewrites, roots int
}

func newRuleset(seed, number uint64) ruleset {
	s := ruleset{number: number, dice: rand.New(rand.NewPCG(seed, number))} //nolint:gosec // the same every time
	s.conditions, s.expressions, s.rewrites, s.roots = s.dice.IntN(7), s.dice.IntN(3), s.dice.IntN(3), s.dice.IntN(2)*10
	for i := range 64 + s.dice.IntN(90) {
		s.rules = append(s.rules, s.rule(i))
	}
	return s
}

func (s ruleset) domain() string { return fmt.Sprintf("set-%d", s.number) }

func (s ruleset) String() string {
	var b strings.Builder
	for _, r := range s.rules {
		fmt.Fprintf(&b, "%s: %+v\n", r.Name, r.Match)
	}
	return b.String()
}

func (s ruleset) rule(i int) ir.Rule {
	r := ir.Rule{Name: fmt.Sprintf("HTTPRoute/a/b/%d/0", i)}
	r.ResponseHeaders = &ir.HeaderEdit{Set: []ir.Header{{Name: "x-rule", Value: r.Name}}}
	r.Match.Path = ir.StringMatch{Kind: ir.Prefix, Value: s.path(4)}
	switch {
	case s.one(s.expressions):
		r.Match.Path = ir.StringMatch{Kind: ir.Regex, Value: s.path(3) + s.choose("", ".*", "/[a-z]+", "x?", "(/b|/c)")}
	case s.one(4):
		r.Match.Path.Kind = ir.Exact
		r.Match.Path.Value += s.choose("", "", "/")
	}
	if s.one(s.conditions) {
		r.Match.Method = s.choose("", "GET", "POST")
		if s.one(5) {
			r.Match.Headers = []ir.NamedMatch{{Name: "x-a", StringMatch: ir.StringMatch{Value: s.choose("1", "2")}}}
		}
		if s.one(5) {
			r.Match.Query = []ir.NamedMatch{{Name: "q", StringMatch: ir.StringMatch{Value: s.choose("1", "2")}}}
		}
		r.Match.GRPC = s.one(1)
	}
	if s.one(s.rewrites) && r.Match.Path.Kind != ir.Regex {
		r.Redirect = &ir.Redirect{StatusCode: 302, Path: &ir.PathEdit{Prefix: new(s.choose("/", "/new"))}}
	} else {
		r.Fail = &ir.Fail{StatusCode: 200 + s.dice.IntN(100)}
	}
	return r
}

// path is a path of up to that many segments, of few letters, so that they often begin alike.
func (s ruleset) path(segments int) string {
	n := s.dice.IntN(segments + 1)
	if n == 0 && s.one(s.roots) {
		return "/"
	}
	var b strings.Builder
	for range max(n, 1) {
		b.WriteString("/" + s.choose("a", "b", "c", "ab", "abc", "x", "a.b", "a-b", "%20"))
	}
	return b.String()
}

func (s ruleset) choose(of ...string) string { return of[s.dice.IntN(len(of))] }

// one is true that many times of ten.
func (s ruleset) one(ofTen int) bool { return s.dice.IntN(10) < ofTen }

// host is the virtual host of some of the rules.
func (s ruleset) host(t *testing.T, rules []ir.Rule) *routev3.VirtualHost {
	t.Helper()
	host, invalid := routetranslate.VirtualHost(ir.VirtualHost{Domain: s.domain(), Rules: rules})
	if len(invalid) > 0 {
		t.Fatal(invalid)
	}
	return host
}

// list is the virtual host of all rules as a list. A single rule makes no tree, so it is put together from hosts of one rule each.
func (s ruleset) list(t *testing.T) *routev3.VirtualHost {
	t.Helper()
	list := s.host(t, nil)
	for i := range s.rules {
		list.Routes = append(list.Routes, s.host(t, s.rules[i:i+1]).GetRoutes()...)
	}
	return list
}

// request often meets a rule, and often just misses one.
func (s ruleset) request() request {
	r := request{method: s.choose("GET", "GET", "POST", "OPTIONS"), host: s.domain(), target: s.path(5)}
	if s.one(5) {
		r.target = s.rules[s.dice.IntN(len(s.rules))].Match.Path.Value
		r.target = strings.TrimRight(r.target, "(|)[]+*?.")
		if !strings.HasPrefix(r.target, "/") || strings.ContainsAny(r.target, "()[]+*?|") {
			r.target = s.path(5)
		}
	}
	r.target += s.choose("", "", "", "", "/", "x", "/x", "/a", "//", "/.", "#", "#/a")
	r.target += s.choose("", "", "", "?", "?q=1", "?q=2", "?/a/b", "?q=1&q=2", "?x=/ab#q")
	if s.one(1) {
		r.method, r.target = "OPTIONS", "*"
	}
	r.header = s.choose("", "x-a: 1\r\n", "x-a: 2\r\n", "content-type: application/grpc\r\nx-a: 1\r\n")
	return r
}

// request is one request, word for word.
type request struct{ method, host, target, header string }

func (r request) String() string { return fmt.Sprintf("%s %s (%q)", r.method, r.target, r.header) }

// answer is what tells answers apart.
type answer struct {
	status                     int
	rule, location, grpcStatus string
}

func (a answer) found() bool { return a.rule != "" }

// client is a connection to one listener, which Envoy may close after an answer.
type client struct {
	socket string
	conn   net.Conn
	reader *bufio.Reader
}

// dial waits until Envoy listens.
func dial(t *testing.T, e *envoy, socket string) *client {
	t.Helper()
	c := &client{socket: socket}
	deadline := time.Now().Add(ackTimeout)
	for {
		err := c.open()
		if err == nil {
			return c
		}
		select {
		case <-e.gone:
			t.Fatalf("%v: %v\n%s", errEnvoyGone, e.exit, e.words())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("Envoy does not listen: %v\n%s", err, e.words())
		}
	}
}

func (c *client) open() error {
	conn, err := net.Dial("unix", c.socket)
	if err != nil {
		return err
	}
	c.conn, c.reader = conn, bufio.NewReader(conn)
	return nil
}

func (c *client) ask(t *testing.T, r request) answer {
	t.Helper()
	if c.conn == nil {
		if err := c.open(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fmt.Fprintf(
		c.conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n%s\r\n", r.method, r.target, r.host, r.header,
	); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(c.reader, &http.Request{Method: r.method})
	if err != nil {
		t.Fatalf("%s: %v", r, err)
	}
	_ = response.Body.Close()
	if response.Close {
		_ = c.conn.Close()
		c.conn = nil
	}
	h := response.Header
	return answer{response.StatusCode, h.Get("x-rule"), h.Get("location"), h.Get("grpc-status")}
}

// serving is a listener with these hosts.
func serving(socket string, hosts []*routev3.VirtualHost) *listenerv3.Listener {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:     "http",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: socket, VirtualHosts: hosts}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(&routerv3.Router{})},
		}},
	}
	return &listenerv3.Listener{
		Name: socket, Address: pipe(socket),
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(manager)},
		}}}},
	}
}
