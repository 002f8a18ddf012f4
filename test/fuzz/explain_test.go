//go:build fuzz

package fuzz

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

var (
	explained = flag.Int("explained", 2000, "how many requests are explained, and sent to a live Envoy")
	perSet    = flag.Int("explained-per-set", 100, "how many of them each set of objects gets")
	differ    = flag.Int("differences", 1, "after how many differences the test ends")
)

// TestExplainAnswersAsEnvoyDoes makes sets of objects, and requests that are often about their rules and often just miss one. What
// [explain.Explain] says of each must be what a live Envoy with the same objects does: the same rule, and the same status or backend.
func TestExplainAnswersAsEnvoyDoes(t *testing.T) {
	t.Parallel()
	l := newLab(t, fuzzobjects.HostileGateway)
	defer func() { l.close() }()
	if err := raiseLoopback(l.envoy.process.Process.Pid); err != nil {
		t.Fatal(err)
	}
	c := comparison{t: t, lab: l, results: map[string]int{}}
	rules := admissions(t)
	for n := *first; c.asked < *explained && c.differences < *differ; n++ {
		set := newServedObjects(*seed, n)
		if n%3 == 2 {
			set = fuzzobjects.HostileGenerator{Generator: fuzzobjects.New(*seed, n)}.Set(rules[n%uint64(len(rules))].Admit)
		}
		if err := l.apply(set); err != nil {
			t.Fatalf("set %d of seed %d: %v", n, *seed, err)
		}
		if err := l.awaitClusters(); err != nil {
			t.Fatalf("set %d of seed %d: %v", n, *seed, err)
		}
		config := l.pipeline.Explainable()
		c.compare(n, &config)
	}
	if c.differences == 0 && c.asked < *explained {
		t.Errorf("only %d requests were sent", c.asked)
	}
	t.Logf("%d requests to %d sets: %v; %d differences", c.asked, c.sets, c.results, c.differences)
}

// TestExplainGuards gives a live Envoy objects with guards, and then with one of them damaged. Of what [explain.Explain] says of requests,
// which must be what Envoy does, another test concludes that none loses its guard: TestNoRequestLosesItsGuard in internal/pipeline.
func TestExplainGuards(t *testing.T) {
	t.Parallel()
	l := newLab(t, fuzzobjects.HostileGateway)
	defer func() { l.close() }()
	if err := raiseLoopback(l.envoy.process.Process.Pid); err != nil {
		t.Fatal(err)
	}
	c := comparison{t: t, lab: l, results: map[string]int{}}
	for n := *first; c.asked < *explained && c.differences < *differ; n++ {
		g := fuzzobjects.New(*seed, n)
		objects := g.Guarded()
		damaged, what := g.Damage(objects, fuzzobjects.Damage(n%uint64(fuzzobjects.Damages)))
		for i, set := range [][]store.Change{objects, damaged} {
			name := fmt.Sprintf("set %d of seed %d", n, *seed)
			if i > 0 {
				name += ", " + what
			}
			if err := l.apply(set); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := l.awaitClusters(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			config := l.pipeline.Explainable()
			c.ask(name, &config, *perSet, func() explain.Request { return guardedRequest(g) })
		}
	}
	t.Logf("%d requests to %d sets: %v; %d differences", c.asked, c.sets, c.results, c.differences)
}

// guardedRequest is a request for one of the hosts of guarded objects.
func guardedRequest(g fuzzobjects.Generator) explain.Request {
	r := explain.Request{
		Method: http.MethodGet, Port: 80, Client: netip.MustParseAddr("127.0.0.1"), Gateway: fuzzobjects.HostileGateway,
		Host:    fuzzobjects.AskedHosts[g.IntN(len(fuzzobjects.AskedHosts))],
		Path:    fuzzobjects.AskedPaths[g.IntN(len(fuzzobjects.AskedPaths))],
		Headers: fuzzobjects.AskedHeaders[g.IntN(len(fuzzobjects.AskedHeaders))],
	}
	if g.IntN(2) == 0 {
		r.Port, r.TLS, r.ServerName, r.HTTP2 = 443, true, r.Host, g.IntN(2) == 0
	}
	return r
}

// awaitClusters waits until no cluster waits for its endpoints.
func (l *lab) awaitClusters() error {
	for range 500 {
		body, err := l.envoy.get("/stats?filter=cluster_manager.warming_clusters")
		if err != nil {
			return err
		}
		if strings.HasSuffix(strings.TrimSpace(body), ": 0") {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errUnanswered
}

type comparison struct {
	t                        *testing.T
	lab                      *lab
	asked, sets, differences int
	results                  map[string]int
	read                     int64
	// proxied are the ports that expect the PROXY protocol.
	proxied map[int32]bool
}

// line is what the access log has of a request.
type line struct {
	Marker  string `json:"user_agent"`
	Route   string `json:"route"`
	Status  int    `json:"status"`
	Details string `json:"details"`
	Flags   string `json:"response_flags"`
	Cluster string `json:"upstream_cluster"`
	Path    string `json:"path"`
	Host    string `json:"authority"`
}

// reply is what a client gets.
type reply struct {
	status   int
	location string
	err      error
}

func (c *comparison) compare(set uint64, config *explain.Config) {
	dice := rand.New(rand.NewPCG(*seed, set)) //nolint:gosec // the same every time
	g := newRequestGenerator(dice, config)
	if g == nil {
		return
	}
	c.proxied = map[int32]bool{}
	for _, p := range g.ports {
		c.proxied[p.Number] = p.Accept != nil && p.Accept.Proxy != nil
	}
	c.ask(fmt.Sprintf("set %d of seed %d", set, *seed), config, *perSet, g.request)
}

// ask sends requests, and compares what becomes of them with what is said of them.
func (c *comparison) ask(set string, config *explain.Config, requests int, next func() explain.Request) {
	c.sets++
	c.logged()
	type exchange struct {
		request     explain.Request
		explanation explain.Explanation
		reply       reply
	}
	var all []exchange
	slow := 0
	for i := range requests {
		if slow == 3 {
			// Most requests of the set are delayed.
			break
		}
		r := next()
		r.Headers = append(slices.Clip(r.Headers), ir.Header{Name: "user-agent", Value: marker(i)})
		e := explain.Explain(config, r)
		got := c.send(r)
		if got.err != nil && e.Result != explain.Closed && !errors.Is(got.err, os.ErrDeadlineExceeded) {
			// The listener may have been replaced in this moment.
			time.Sleep(100 * time.Millisecond)
			got = c.send(r)
		}
		if errors.Is(got.err, os.ErrDeadlineExceeded) {
			slow++
		}
		all = append(all, exchange{r, e, got})
	}
	lines := c.awaitLines(len(all), func(i int) bool { return all[i].reply.err == nil && all[i].reply.status != http.StatusBadRequest })
	for i, x := range all {
		c.asked++
		l, logged := lines[marker(i)]
		c.count(&x.explanation)
		problem := difference(&x.explanation, x.reply, l, logged)
		if problem == "" {
			continue
		}
		c.differences++
		e := x.explanation
		c.t.Errorf("%s, request %d: %s\n  %+v\n  Envoy: %d %v\n  log: %v %+v", set, i, problem, x.request, x.reply.status, x.reply.err, logged, l)
		c.t.Errorf("  explained: %s %d: %s\n  rule %s, host %s, listener %s\n  %+v %+v", e.Result, e.Status, e.Reason, e.Rule, e.Host, e.Listener,
			e.Backends, e.Alternatives)
		if c.differences >= *differ {
			return
		}
	}
}

// count counts the kinds of explanations, so that a test that tries little shows.
func (c *comparison) count(e *explain.Explanation) {
	what := string(e.Result)
	if e.Status != 0 {
		what += " " + strconv.Itoa(e.Status)
	}
	c.results[what]++
	if !e.Certain() {
		c.results["uncertain"]++
	}
	if e.Rule != "" {
		c.results["with a rule"]++
	}
}

func marker(i int) string { return "request-" + strconv.Itoa(i) }

// difference says how the explanation differs from what Envoy did.
func difference(e *explain.Explanation, got reply, l line, logged bool) string {
	switch {
	case e.Result == explain.Passed || errors.Is(got.err, errTLS) || errors.Is(got.err, os.ErrDeadlineExceeded):
		return ""
	case e.Result == explain.Closed && got.err == nil:
		return "explained as closed, and answered"
	case e.Result == explain.Closed:
		return ""
	case got.err != nil:
		return "explained as answered, and closed"
	case logged && l.Route != e.Rule:
		return fmt.Sprintf("the rule is %q, explained as %q", l.Route, e.Rule)
	}
	return differentAnswer(e, got, l, logged)
}

func differentAnswer(e *explain.Explanation, got reply, l line, logged bool) string {
	answered := got.status == e.Status
	if e.Result == explain.Forwarded {
		answered = logged && slices.ContainsFunc(e.Backends, func(b explain.Backend) bool { return b.Cluster != "" && b.Cluster == l.Cluster })
	}
	isPossible := func(a explain.Alternative) bool { return a.Status == 0 || a.Status == got.status }
	switch {
	case !answered && !slices.ContainsFunc(e.Alternatives, isPossible):
		return fmt.Sprintf("the status is %d and the cluster %q, explained as %d", got.status, l.Cluster, e.Status)
	case e.Result == explain.Redirected && e.Certain() && e.GRPCStatus == nil && e.Location != got.location:
		return fmt.Sprintf("the location is %q, explained as %q", got.location, e.Location)
	}
	return ""
}

var errTLS = errors.New("the handshake failed for a reason of the client's own")

func (c *comparison) send(r explain.Request) reply {
	conn, err := dialInside(c.lab.envoy.process.Process.Pid, r.Port)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	if c.proxied[r.Port] {
		_, _ = fmt.Fprintf(conn, "PROXY TCP4 %s 127.0.0.1 1234 %d\r\n", r.Client, r.Port)
	}
	if r.TLS {
		protocol := "http/1.1"
		if r.HTTP2 {
			protocol = "h2"
		}
		secure := tls.Client(conn, &tls.Config{
			ServerName: r.ServerName, InsecureSkipVerify: true, NextProtos: []string{protocol}, //nolint:gosec // the client of a test
		})
		if err := secure.Handshake(); err != nil {
			var opError *net.OpError
			if !strings.Contains(err.Error(), "EOF") && !errors.As(err, &opError) {
				err = fmt.Errorf("%w: %w", errTLS, err)
			}
			return reply{err: err}
		}
		conn = secure
	}
	if r.HTTP2 {
		return askByHTTP2(conn, r)
	}
	var text strings.Builder
	target := r.Path
	if r.Method == http.MethodConnect {
		target = r.Host
	}
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", r.Method, target, r.Host)
	for _, h := range r.Headers {
		fmt.Fprintf(&text, "%s: %s\r\n", h.Name, h.Value)
	}
	if _, err := conn.Write([]byte(text.String() + "\r\n")); err != nil {
		return reply{err: err}
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.Method})
	if err != nil {
		return reply{err: err}
	}
	_ = response.Body.Close()
	return reply{status: response.StatusCode, location: response.Header.Get("location")}
}

// logged are the lines that were written since it was last called, by their markers.
func (c *comparison) logged() map[string]line {
	file, err := os.Open(c.lab.envoy.log)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(c.read, 0); err != nil {
		c.t.Fatal(err)
	}
	lines := map[string]line{}
	reader := bufio.NewReader(file)
	for {
		text, err := reader.ReadBytes('\n')
		if err != nil {
			return lines
		}
		c.read += int64(len(text))
		var l line
		// Something else may be written before it, without an end of line.
		if i := bytes.IndexByte(text, '{'); i >= 0 && json.Unmarshal(text[i:], &l) == nil && l.Marker != "" {
			lines[l.Marker] = l
		}
	}
}

// awaitLines waits for the lines of requests that were answered. Those that the codec rejects have no marker.
func (c *comparison) awaitLines(requests int, answered func(i int) bool) map[string]line {
	lines := map[string]line{}
	for range 100 {
		time.Sleep(20 * time.Millisecond)
		for marker, l := range c.logged() {
			lines[marker] = l
		}
		missing := false
		for i := range requests {
			_, ok := lines[marker(i)]
			missing = missing || answered(i) && !ok
		}
		if !missing {
			break
		}
	}
	return lines
}
