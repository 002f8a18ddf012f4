package worldtest

import (
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The values that a parser, a limit or a proxy may stumble over.
var (
	wildHostnames = []string{
		"a.example.com", "b.example.com", "*.example.com", "*.b.example.com", "*.com", "com", "localhost", "192.0.2.1", "a--b.example.com",
		"xn--bcher-kva.example", "*.0", "0", strings.Repeat("a", 63) + ".example.com", "*." + strings.Repeat("a.", 120) + "b",
		strings.Repeat("a", 253), strings.TrimSuffix(strings.Repeat("1234567890.", 23), "."),
	}
	wildPaths = []string{
		"/", "/a", "/a/", "/a/b", "/a/b/c", "/%41", "/%zz", "/a//b", "/a/../b", "/.", "/..", "/a;b=c", "/a,b", "/a:b@c", "/(a)", "/a+b", "/*",
		"/a?b", "/a#b", "/a b", "/ü", "", "a", "/a\x00b", "/a\nb", "/" + strings.Repeat("a", 1023), "/" + strings.Repeat("a/", 511), "/%2f", "/%",
		"/$1", "/\\1", "/{x}", "/%REQ(x)%", "/%BOGUS(%",
	}
	wildExpressions = []string{
		"/a.*", "[0-9]+", "/(a|b)/[^/]+", "(?i)/a", "/\\d{3}", "[[:alpha:]]+", "\\p{Greek}+", "\\pL", "(?P<n>a)", "(?<n>a)", "(?P<n>a)(?P<n>b)",
		"^/a$", "/a|/b", "(?s).*", "(?U)a+", "\\bword\\b", "\\A/a\\z", "\\x{10FFFF}", "日本+", "[^\\x00-\\x{10FFFF}]", "\\Q.+\\E", ".*", "",
		"(", "a**", "a{2,1}", "[z-a]", "(?=a)", "\\C", "\\1", "\\u1234", "a{1001}", "(?P<ü>a)", "\\z*", "*", "+", "a|*", "\\p{Nope}", "(?", "[",
		"a{1000}", "(a{100}){10}", "(a{10,100}){10}", "((a{10}){10}){10}", "\\pL{400}", "[\\pL\\pN]{900}", "(?i)\\pL{200}", "[^a]{1000}", ".{1000}",
		"(\\pL\\pN\\pS){300}", "a\x00b", "a\nb", "%[0-9]", "\\", "a\\", strings.Repeat("(", 500) + "a" + strings.Repeat(")", 500),
		strings.Repeat("a|", 500) + "b", strings.Repeat("[a-z]", 200), strings.Repeat("(?:a?){1,9}", 90), strings.Repeat("a?", 500), "(?:(?:a?){30}){30}",
		"[\\x{80}-\\x{10FFFF}]{300}", "(?i:[k\\x{212A}s\\x{17F}]){500}",
	}
	wildHeaderNames = []string{
		"X-A", "x-a", "X-B", "X_under", "x.dot", "!#$%&'*+-.^_`|~", "~", "%", "0", strings.Repeat("a", 256), "Host", "host", "HOST", "Content-Length",
		"Transfer-Encoding", "Connection", "Upgrade", "TE", "Cookie", "Set-Cookie", "Content-Type", "X-Forwarded-For", "X-Forwarded-Proto", "X-Envoy-Internal",
		"x-envoy-upstream-rq-timeout-ms", "grpc-timeout", "grpc-status", "Date", "Server", "Location", "Origin", ":path", ":authority", ":method", ":status", ":", "",
		"a b", "a:b", "a\nb", "a\x00", "ü", "(a)", "a,b", "a\"b",
	}
	wildHeaderValues = []string{
		"a", "%BOGUS(%", "%", "%%", "%%%", "100%", "%REQ(X-A)%", "%REQ(X-A)", "%START_TIME(%s)%", "%START_TIME(%E4n)%", "%DOWNSTREAM_REMOTE_ADDRESS%",
		"%CEL(1+1)%", "%ENVIRONMENT(PATH)%", "%FILE_CONTENT(/etc/hostname)%", "%PROTOCOL", "a%0Ab", "a\tb", "a b", " a", "a ", "a\nb", "a\r\nX-C: d", "a\x00b",
		"\x7f", "\x01", "ü", "日本", "\u2028", "\U0001F600", "\u0085", "\"", "\\", "{}", "$1", "\\1", "a,b", "a;b", "", strings.Repeat("x", 4096),
		strings.Repeat("%", 4096), "\xff\xfe",
	}
	wildDurations = []gwv1.Duration{
		"0s", "1ms", "100ms", "1s", "15s", "5m", "1h", "0h0m0s0ms", "99999h", "99999h99999h99999h99999h", "99999ms", "1h1m1s1ms", "1193h", "4294967s",
		"soon", "-1s", "1us", "",
	}
	wildPorts   = []int32{1, 53, 80, 80, 443, 443, 443, 8080, 8443, 10000, 19001, 32767, 65535}
	wildWeights = []int32{0, 0, 1, 1, 2, 50, 100, 333, 999_999, 1_000_000}
)

// text is a value of a list, or now and then something nobody thought of.
func (w Wild) text(list []string) string {
	if w.IntN(12) > 0 {
		return pick(w.World, list...)
	}
	var b strings.Builder
	for range w.IntN(20) {
		switch w.IntN(4) {
		case 0:
			b.WriteRune(' ' + w.Int32N(95))
		case 1:
			b.WriteString(pick(w.World, list...))
		case 2:
			b.WriteString(pick(w.World, "/", "%", "(", ")", "\\", "*", ".", "-", "\n", "é"))
		default:
			fmt.Fprintf(&b, "%d", w.IntN(1000))
		}
	}
	return b.String()
}

// odd takes most values from the first ones of a list, which are good, so that a rule with many of them has a chance.
func (w Wild) odd(list []string, good int) string {
	if w.IntN(24) == 0 {
		return w.text(list)
	}
	return pick(w.World, list[:good]...)
}

func (w Wild) token() string { return w.odd(wildHeaderNames, 10) }

func (w Wild) value() string { return w.odd(wildHeaderValues, 18) }

func (w Wild) expression() string { return w.odd(wildExpressions, 20) }

func (w Wild) path() string { return w.odd(wildPaths, 6) }

func (w Wild) hostname() string {
	if w.coin() {
		return pick(w.World, wildHostnames[:4]...)
	}
	return pick(w.World, wildHostnames...)
}

func (w Wild) duration() *gwv1.Duration {
	if w.IntN(3) == 0 {
		return nil
	}
	if w.IntN(8) == 0 {
		return new(pick(w.World, wildDurations...))
	}
	return new(pick(w.World, wildDurations[:12]...))
}

func (w Wild) port() int32 { return pick(w.World, wildPorts...) }

// few is a small number that is large at times.
func (w Wild) few(most int) int {
	if w.IntN(10) == 0 {
		return w.IntN(most + 1)
	}
	return w.IntN(3)
}

// maybe is nil half the time.
func maybe[T any](w Wild, value T) *T {
	if w.coin() {
		return nil
	}
	return &value
}
