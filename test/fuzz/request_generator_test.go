//go:build fuzz

package fuzz

import (
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
)

// requestGenerator generates requests for what a Gateway serves.
type requestGenerator struct {
	*rand.Rand
	config *explain.Config
	ports  []ir.Port
	hosts  []ir.VirtualHost
}

func newRequestGenerator(dice *rand.Rand, config *explain.Config) *requestGenerator {
	g := &requestGenerator{Rand: dice, config: config}
	for _, gateway := range config.Gateways {
		for _, p := range gateway.Ports {
			if !p.Protocol.Datagrams() && p.Protocol != ir.TCP && !slices.ContainsFunc(p.Chains, hasty) {
				g.ports = append(g.ports, p)
			}
		}
	}
	for _, h := range config.Hosts {
		if slices.ContainsFunc(g.ports, func(p ir.Port) bool { return p.Number == h.Table.Port }) {
			g.hosts = append(g.hosts, h)
		}
	}
	slices.SortFunc(g.hosts, func(a, b ir.VirtualHost) int {
		return strings.Compare(a.Table.String()+a.Domain, b.Table.String()+b.Domain)
	})
	if len(g.ports) == 0 || len(g.hosts) == 0 {
		return nil
	}
	return g
}

// hasty says whether a chain has timeouts that may end a request before it is answered.
func hasty(c ir.Chain) bool {
	p := c.Client()
	all := []*time.Duration{
		p.Timeouts.Request, p.Timeouts.RequestHeaders, p.Timeouts.Idle, p.Timeouts.StreamIdle, p.Timeouts.Handshake,
		p.Limits.ConnectionDuration, &p.Limits.StreamDuration,
	}
	return p.Limits.Connections > 0 || slices.ContainsFunc(all, func(d *time.Duration) bool { return d != nil && *d > 0 && *d < time.Second })
}

func (g *requestGenerator) choose(list ...string) string { return list[g.IntN(len(list))] }

func (g *requestGenerator) request() explain.Request {
	host := g.hosts[g.IntN(len(g.hosts))]
	r := explain.Request{Method: "GET", Path: "/", Client: netip.MustParseAddr("127.0.0.1"), Gateway: fuzzobjects.HostileGateway}
	name := strings.Replace(host.Domain, "*", g.choose("x", "x.y", "a"), 1)
	r.Port = host.Table.Port
	if g.IntN(10) == 0 {
		r.Port = g.ports[g.IntN(len(g.ports))].Number
	}
	for _, p := range g.ports {
		if p.Number == r.Port {
			r.TLS = p.Protocol.ChoosesByName()
		}
	}
	if g.IntN(30) == 0 {
		r.TLS = !r.TLS
	}
	if len(host.Rules) > 0 {
		g.fit(&r, &host.Rules[g.IntN(len(host.Rules))].Match)
	}
	if r.TLS {
		r.ServerName = name
		if g.IntN(6) == 0 {
			r.ServerName = g.choose("other.example", "a.example.com", "b.example.com", "X.Example.COM")
		}
		if len(r.ServerName) > 250 || strings.HasPrefix(r.ServerName, "192") {
			r.ServerName = ""
		}
	}
	r.Host = g.host(name)
	r.HTTP2 = g.IntN(4) == 0
	g.disturb(&r)
	if strings.ContainsFunc(r.Path, func(c rune) bool { return c < '!' || c > '~' }) {
		// HTTP/2 lets some of these pass in queries.
		r.HTTP2 = false
	}
	if r.Method == http.MethodConnect {
		r.Host = name + ":443"
	}
	return r
}

// fit has a request meet a match.
func (g *requestGenerator) fit(r *explain.Request, m *ir.Match) {
	if m.Method != "" {
		r.Method = m.Method
	}
	if p := m.Path.Value; strings.HasPrefix(p, "/") && m.Path.Kind != ir.Regex {
		r.Path = p
	} else {
		r.Path = g.choose("/a", "/123", "/a/b", "/b", "/abc")
	}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, ir.Header{Name: h.Name, Value: g.value(h.StringMatch)})
	}
	for i, q := range m.Query {
		r.Path += map[bool]string{true: "?", false: "&"}[i == 0] + q.Name + "=" + g.value(q.StringMatch)
	}
}

func (g *requestGenerator) value(m ir.StringMatch) string {
	if m.Kind == ir.Regex {
		return g.choose("/a", "123", "a", "word")
	}
	return m.Value
}

// host spells a host in some way.
func (g *requestGenerator) host(name string) string {
	if g.IntN(12) == 0 {
		name = g.choose("unknown.example", "", "a.example.com", "*.example.com", "*", "x.a.example.com", ".example.com", "[::1]", "127.0.0.1")
	}
	switch g.IntN(12) {
	case 0:
		name = strings.ToUpper(name)
	case 1:
		name = strings.ToUpper(name[:len(name)/2]) + name[len(name)/2:]
	}
	return name + g.choose("", "", "", "", "", "", "", ".", ":80", ":8080", ".:443", ":", ":x", ":1:2", "..", "_")
}

// disturb changes a request in ways that may matter.
func (g *requestGenerator) disturb(r *explain.Request) {
	if g.IntN(4) == 0 {
		r.Method = g.choose("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "get", "FOO", "PROPFIND")
	}
	if g.IntN(2) == 0 {
		path, query, _ := strings.Cut(r.Path, "?")
		path += g.choose("/", "x", "/x", "//", "/.", "/..", "/../", "/./a", "/%2e%2e/a", "/%2E", "%2f", "%2Fa", "%5c", "/%41", "/%61", "%00", "%",
			"%zz", "/;a=b", "#f", "\\a", "/a\\..\\b", "/{}", "/|", "/^", "/\"", "/<>", "/`", "/~", "/%7E", "/a%20b", "/a+b", "/@:!$&'()*,=", "/[]", "/a//b///c",
			"/.../a", "/..a", "/%2e.", "/.%2e/", "/a/%2e/b", "%25", "%252f", "/%7f", "/%80")
		r.Path = path
		if query != "" {
			r.Path += "?" + query
		}
	}
	if g.IntN(10) == 0 {
		r.Path = g.choose("//a", "//", "///", "/a//b", "/./a", "/../a", "/a/../b", "/%61", "*", "/", "/a/./b", "/%2e%2e/b", "\\a")
	}
	if g.IntN(4) == 0 {
		if strings.Contains(r.Path, "?") {
			r.Path += g.choose("&X-A=b", "&", "&&x", "&a=/../b", "&X-A", "&x-a=a&x-a=b")
		} else {
			r.Path += g.choose("?", "?X-A=a", "?key=key1", "?q=1", "?q=1&q=2", "?q=2&q=1", "?q=%31", "?x=//y", "?x=%2f", "??",
				"?X-A=a&X-A=b", "?=", "?a=b=c")
		}
	}
	if g.IntN(4) == 0 && len(r.Headers) > 0 {
		h := r.Headers[g.IntN(len(r.Headers))]
		again := ir.Header{Name: g.choose(h.Name, strings.ToUpper(h.Name), strings.ToLower(h.Name)), Value: g.choose(h.Value, "other", "")}
		r.Headers = slices.Insert(r.Headers, g.IntN(2), again)
	}
	if g.IntN(3) == 0 {
		r.Headers = append(r.Headers, g.header()...)
	}
	r.Headers = slices.DeleteFunc(r.Headers, func(h ir.Header) bool { return !sendable(h) })
}

// header is a header that proxies treat in a way of their own.
func (g *requestGenerator) header() []ir.Header {
	one := func(name, value string) []ir.Header { return []ir.Header{{Name: name, Value: value}} }
	switch g.IntN(10) {
	case 0:
		return one("content-type", g.choose("application/grpc", "application/grpc+proto", "application/grpc-web", "text/plain"))
	case 1, 2:
		return append(one("origin", g.choose("https://a.example.com", "http://x", "null", "https://other.org")),
			one("access-control-request-method", g.choose("GET", "POST", ""))...)
	case 3:
		return one("x-forwarded-for", g.choose("192.0.2.1", "10.0.0.1, 192.0.2.2", "nonsense"))
	case 8:
		return one(g.choose("x-key", "x-client"), g.choose("key1", "key2", "192.0.2.7"))
	case 4:
		return one("authorization", g.choose("Basic dXNlcjpwYXNz", "Bearer x", "Basic", "x"))
	case 5:
		return one("cookie", g.choose("a=b", "a=b; c=d", "a"))
	case 6:
		return one("x-gatewright-hops", g.choose("1", "1111111111", "11111"))
	case 7:
		return append(one("x-a", g.choose("a", "b")), one("x-a", g.choose("a", "b"))...)
	default:
		return one("x_under", "1")
	}
}

// sendable says whether a header can be sent without changing what the request is.
func sendable(h ir.Header) bool {
	if slices.Contains([]string{
		"host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "expect", "user-agent", "keep-alive",
	}, strings.ToLower(h.Name)) {
		return false
	}
	return !strings.HasPrefix(h.Name, ":") && !strings.ContainsFunc(h.Value, func(c rune) bool { return c < ' ' || c == 0x7f || c > 0x7f })
}
