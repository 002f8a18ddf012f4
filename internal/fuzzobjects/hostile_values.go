package fuzzobjects

import (
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The values that a parser, a limit or a proxy may stumble over.
var (
	hostileHostnames = []string{
		"a.example.com", "b.example.com", "*.example.com", "*.b.example.com", "*.com", "com", "localhost", "192.0.2.1", "a--b.example.com",
		"xn--bcher-kva.example", "*.0", "0", strings.Repeat("a", 63) + ".example.com", "*." + strings.Repeat("a.", 120) + "b",
		strings.Repeat("a", 253), strings.TrimSuffix(strings.Repeat("1234567890.", 23), "."),
	}
	hostilePaths = []string{
		"/", "/a", "/a/", "/a/b", "/a/b/c", "/%41", "/%zz", "/a//b", "/a/../b", "/.", "/..", "/a;b=c", "/a,b", "/a:b@c", "/(a)", "/a+b", "/*",
		"/a?b", "/a#b", "/a b", "/ü", "", "a", "/a\x00b", "/a\nb", "/" + strings.Repeat("a", 1023), "/" + strings.Repeat("a/", 511), "/%2f", "/%",
		"/$1", "/\\1", "/{x}", "/%REQ(x)%", "/%BOGUS(%",
	}
	hostileConditions = []string{
		"true", "request.path == '/a'", "request.headers['x-a'] == 'b'", "'x-a' in request.headers", "has(request.headers.a)", "!(1 < 2)",
		"request.path.matches('^/a+$')", "request.path.matches('(a{10}){10}')", "request.path.matches('(')", "request.path.matches(request.host)",
		"source.address.startsWith('10.')", "source.port > 1024u || source.port < 1", "connection.mtls ? true : false", "request.size > 1",
		"request.headers.all(k, k == 'a')", "[1, 2].exists(x, x == 1)", "metadata.filter_metadata['a']['b'] == 'c'",
		"size(request.path) % 2 == 0", "request.time > timestamp('2020-01-01T00:00:00Z')", "string(1) == '1'", "'a' + 'b' == 'ab'",
		"[1] + [2] == [1, 2]", "{'a': 1}['a'] == 1",
		"request.path", "1", "", "(", "a.b.c", "request.nope == 1", "null", "request.path < 1", "1 / 0 == 1", "b'\\xff' == b''",
		"'日本' in [request.path]", "request.query == '' && request.scheme == 'http'", "dyn(1) == 1", "type(1) == int",
		"optional.none()", strings.Repeat("!", 300) + "true",
		strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), "\x00",
	}
	hostileExpressions = []string{
		"/a.*", "[0-9]+", "/(a|b)/[^/]+", "(?i)/a", "/\\d{3}", "[[:alpha:]]+", "\\p{Greek}+", "\\pL", "(?P<n>a)", "(?<n>a)", "(?P<n>a)(?P<n>b)",
		"^/a$", "/a|/b", "(?s).*", "(?U)a+", "\\bword\\b", "\\A/a\\z", "\\x{10FFFF}", "日本+", "[^\\x00-\\x{10FFFF}]", "\\Q.+\\E", ".*", "",
		"(", "a**", "a{2,1}", "[z-a]", "(?=a)", "\\C", "\\1", "\\u1234", "a{1001}", "(?P<ü>a)", "\\z*", "*", "+", "a|*", "\\p{Nope}", "(?", "[",
		"a{1000}", "(a{100}){10}", "(a{10,100}){10}", "((a{10}){10}){10}", "\\pL{400}", "[\\pL\\pN]{900}", "(?i)\\pL{200}", "[^a]{1000}",
		".{1000}",
		"(\\pL\\pN\\pS){300}", "a\x00b", "a\nb", "%[0-9]", "\\", "a\\", strings.Repeat("(", 500) + "a" + strings.Repeat(")", 500),
		strings.Repeat("a|", 500) + "b", strings.Repeat("[a-z]", 200), strings.Repeat("(?:a?){1,9}", 90), strings.Repeat("a?", 500),
		"(?:(?:a?){30}){30}",
		"[\\x{80}-\\x{10FFFF}]{300}", "(?i:[k\\x{212A}s\\x{17F}]){500}",
	}
	hostileHeaderNames = []string{
		"X-A", "x-a", "X-B", "X_under", "x.dot", "!#$%&'*+-.^_`|~", "~", "%", "0", strings.Repeat("a", 256), "Host", "host", "HOST",
		"Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Cookie", "Set-Cookie", "Content-Type",
		"X-Forwarded-For", "X-Forwarded-Proto",
		"X-Envoy-Internal", "x-envoy-upstream-rq-timeout-ms", "grpc-timeout", "grpc-status", "Date", "Server", "Location", "Origin",
		":path", ":authority",
		":method", ":status", ":", "",
		"a b", "a:b", "a\nb", "a\x00", "ü", "(a)", "a,b", "a\"b",
	}
	hostileHeaderValues = []string{
		"a", "%BOGUS(%", "%", "%%", "%%%", "100%", "%REQ(X-A)%", "%REQ(X-A)", "%START_TIME(%s)%", "%START_TIME(%E4n)%",
		"%DOWNSTREAM_REMOTE_ADDRESS%",
		"%CEL(1+1)%", "%ENVIRONMENT(PATH)%", "%FILE_CONTENT(/etc/hostname)%", "%PROTOCOL", "a%0Ab", "a\tb", "a b", " a", "a ", "a\nb",
		"a\r\nX-C: d", "a\x00b",
		"\x7f", "\x01", "ü", "日本", "\u2028", "\U0001F600", "\u0085", "\"", "\\", "{}", "$1", "\\1", "a,b", "a;b", "", strings.Repeat("x", 4096),
		strings.Repeat("%", 4096), "\xff\xfe",
	}
	hostileDurations = []gwv1.Duration{
		"0s", "1ms", "100ms", "1s", "15s", "5m", "1h", "0h0m0s0ms", "99999h", "99999h99999h99999h99999h", "99999ms", "1h1m1s1ms", "1193h",
		"4294967s",
		"soon", "-1s", "1us", "",
	}
	hostilePorts   = []int32{1, 53, 80, 80, 443, 443, 443, 8080, 8443, 10000, 19001, 32767, 65535}
	hostileWeights = []int32{0, 0, 1, 1, 2, 50, 100, 333, 999_999, 1_000_000}
)

// text is a value of a list, or now and then a random one.
func (w HostileGenerator) text(list []string) string {
	if w.IntN(12) > 0 {
		return pick(w.Generator, list...)
	}
	var b strings.Builder
	for range w.IntN(20) {
		switch w.IntN(4) {
		case 0:
			b.WriteRune(' ' + w.Int32N(95))
		case 1:
			b.WriteString(pick(w.Generator, list...))
		case 2:
			b.WriteString(pick(w.Generator, "/", "%", "(", ")", "\\", "*", ".", "-", "\n", "é"))
		default:
			fmt.Fprintf(&b, "%d", w.IntN(1000))
		}
	}
	return b.String()
}

// odd takes most values from the first ones of a list, which are good, so that a rule with many of them has a chance.
func (w HostileGenerator) odd(list []string, good int) string {
	if w.IntN(24) == 0 {
		return w.text(list)
	}
	return pick(w.Generator, list[:good]...)
}

func (w HostileGenerator) token() string { return w.odd(hostileHeaderNames, 10) }

func (w HostileGenerator) value() string { return w.odd(hostileHeaderValues, 18) }

func (w HostileGenerator) expression() string { return w.odd(hostileExpressions, 20) }

func (w HostileGenerator) path() string { return w.odd(hostilePaths, 6) }

func (w HostileGenerator) hostname() string {
	if w.coin() {
		return pick(w.Generator, hostileHostnames[:4]...)
	}
	return pick(w.Generator, hostileHostnames...)
}

func (w HostileGenerator) duration() *gwv1.Duration {
	if w.IntN(3) == 0 {
		return nil
	}
	if w.IntN(8) == 0 {
		return new(pick(w.Generator, hostileDurations...))
	}
	return new(pick(w.Generator, hostileDurations[:12]...))
}

func (w HostileGenerator) port() int32 { return pick(w.Generator, hostilePorts...) }

// few is a small number that is large at times.
func (w HostileGenerator) few(most int) int {
	if w.IntN(10) == 0 {
		return w.IntN(most + 1)
	}
	return w.IntN(3)
}

// maybe is nil half the time.
func maybe[T any](w HostileGenerator, value T) *T {
	if w.coin() {
		return nil
	}
	return &value
}
