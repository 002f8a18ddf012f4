package explain

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// serve is what a connection manager does with a request before any filter sees it, and then the rest.
func (x *exchange) serve() {
	for _, header := range x.request.Headers {
		x.headers.add(header.Name, strings.Trim(header.Value, " \t"))
	}
	if cookies := x.headers.values("cookie"); x.request.HTTP2 && len(cookies) > 1 {
		// RFC 9113, 8.2.3: clients may split the header, so HTTP/2 puts it together.
		x.headers.set("cookie", strings.Join(cookies, "; "))
	}
	x.headers.set(authorityHeader, x.request.Host)
	if !x.decode() || !x.normalizePath() {
		return
	}
	x.normalizeHost()
	if !x.editHeaders() {
		return
	}
	x.headers.set(pathHeader, x.path)
	x.headers.set(methodHeader, x.request.Method)
	x.route()
}

// http1Methods are the only ones that Envoy reads by HTTP/1.
var http1Methods = strings.Fields(`ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MOVE MSEARCH
	NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE`)

// decode is what Envoy's codec rejects.
func (x *exchange) decode() bool {
	bad := func(value, detail, fix string) bool {
		x.reject(Hop{Name: hopRequest, Value: value, Detail: detail}, fix)
		return false
	}
	method, host := x.request.Method, x.headers.first(authorityHeader)
	switch {
	case method == "" || strings.ContainsFunc(method, func(c rune) bool { return !isToken(c) }),
		!x.request.HTTP2 && !slices.Contains(http1Methods, method):
		return bad(method, "the method is not one that proxies read", "use a standard method in capital letters")
	case strings.ContainsFunc(x.path, func(c rune) bool { return c < '!' || c > '~' }):
		return bad(x.path, "the path has a character that must be escaped", "escape it with %")
	case !hasTarget(method, x.path) || x.request.HTTP2 && len(x.path) > 1 && x.path[0] == '*':
		return bad(x.path, "the path does not begin with a slash", "ask for a path that begins with a slash")
	case x.request.HTTP2 && host == "":
		return bad(host, "the request has no host", "send a host")
	case strings.ContainsFunc(host, func(c rune) bool { return !isAuthority(c) }):
		return bad(host, "the host has a character that no host can have", "correct the Host header")
	}
	return x.dropUnderscores() && x.checkTarget()
}

// hasTarget says whether a path can be asked for with a method.
func hasTarget(method, path string) bool {
	return strings.HasPrefix(path, "/") || method == http.MethodConnect || method == ir.MethodOptions && strings.HasPrefix(path, "*")
}

// reject answers 400, to gRPC clients too: the codec does not know yet what they are.
func (x *exchange) reject(h Hop, fix string) {
	x.fail(http.StatusBadRequest, h, fix)
	x.out.Status, x.out.GRPCStatus = http.StatusBadRequest, nil
}

// dropUnderscores treats headers with an underscore in their names as the client policy says.
func (x *exchange) dropUnderscores() bool {
	underscored := func(name string) bool { return strings.Contains(name, "_") }
	switch x.policy.Headers.Underscores {
	case "DropHeader":
		x.headers.removeFunc(underscored)
	case "RejectRequest":
		if i := slices.IndexFunc(x.headers.list, func(h ir.Header) bool { return underscored(h.Name) }); i >= 0 {
			x.reject(Hop{
				Name: hopRequest, Value: x.headers.list[i].Name, Detail: "headers with an underscore in their names are rejected",
				Origin: originsOf(x.policy.Origins),
			}, "rename the header, or change headers.withUnderscoresAction of the ClientTrafficPolicy")
			return false
		}
	}
	return true
}

// checkTarget is false for a request for the server as a whole, which has no path.
func (x *exchange) checkTarget() bool {
	if x.request.Method != http.MethodConnect && !strings.HasPrefix(x.path, "/") {
		x.fail(http.StatusNotFound, Hop{Name: hopRequest, Value: x.path, Detail: "the path does not begin with a slash"}, "ask for a path")
		return false
	}
	return true
}

func isToken(c rune) bool {
	return c > ' ' && c < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

// isAuthority says whether a character can be in a host, with a port and a user.
func isAuthority(c rune) bool {
	return c > ' ' && c < 0x7f && !strings.ContainsRune("\"#/<>?\\^`{|}", c)
}

// normalizePath gives the path one spelling.
func (x *exchange) normalizePath() bool {
	if x.request.Method == http.MethodConnect {
		x.path = ""
		return true
	}
	if strings.Contains(x.path, "#") {
		x.fail(http.StatusBadRequest, Hop{Name: hopRequest, Value: x.path, Detail: "the path has a fragment"}, "leave out what follows #")
		return false
	}
	sent := x.path
	path, query := cutQuery(x.path)
	redirect := false
	if action := x.policy.Path.EscapedSlashes; action != "KeepUnchanged" {
		plain := ir.UnescapeSlashes(path)
		if plain != path && action == "RejectRequest" {
			x.fail(http.StatusBadRequest, Hop{
				Name: hopRequest, Value: sent, Detail: "paths with escaped slashes are rejected", Origin: originsOf(x.policy.Origins),
			}, "send plain slashes, or change path.escapedSlashesAction of the ClientTrafficPolicy")
			return false
		}
		redirect = plain != path && action != "UnescapeAndForward"
		path = plain
	}
	path, ok := ir.CanonicalPath(path)
	if !ok {
		x.fail(http.StatusBadRequest, Hop{Name: hopRequest, Value: sent, Detail: "the path cannot be normalized"}, "send another path")
		return false
	}
	if !x.policy.Path.KeepSlashes {
		path = ir.MergeSlashes(path)
	}
	x.path = path + query
	if redirect {
		x.redirectEscaped(sent)
		return false
	}
	if x.path != sent {
		x.hop(Hop{Name: hopRequest, Value: x.path, Detail: "the path as proxies and backends see it; the client sends " + sent})
	}
	return true
}

// redirectEscaped is for a path with escaped slashes, of which it is not known what the backend takes them for.
func (x *exchange) redirectEscaped(sent string) {
	if x.isGRPC() {
		x.fail(http.StatusBadRequest, Hop{Name: hopRequest, Value: sent, Detail: "the path has escaped slashes"}, "send plain slashes")
		return
	}
	x.hop(Hop{Name: hopRequest, Value: sent, Detail: "the path has escaped slashes; the client is redirected to the plain path"})
	x.answer(http.StatusTemporaryRedirect, "the path has escaped slashes; the client is redirected to the plain path")
	x.out.Result, x.out.Location = Redirected, x.path
}

// normalizeHost drops the dot at the end of the host, before a port or not.
func (x *exchange) normalizeHost() {
	if x.policy.Headers.KeepHostDot {
		return
	}
	host := x.headers.first(authorityHeader)
	dot := strings.LastIndexByte(host, '.')
	if dot < 0 || dot != len(host)-1 && host[dot+1] != ':' {
		return
	}
	x.headers.set(authorityHeader, host[:dot]+host[dot+1:])
}

// editHeaders edits headers as a connection manager does, and finds the address of the client.
func (x *exchange) editHeaders() bool {
	address := x.policy.Address
	trusted := address.TrustedHops > 0 || x.isTrusted()
	x.headers.removeFunc(func(name string) bool {
		return strings.HasPrefix(name, ir.EnvoyHeaderPrefix) ||
			!trusted && (name == ir.ForwardedHeader || strings.HasPrefix(name, ir.ForwardedHeaderPrefix))
	})
	if id := x.policy.Headers.RequestID; id == ir.RequestIDDisable || (id == "" || id == ir.RequestIDGenerate) && x.detectsAddress() {
		x.headers.remove("x-request-id")
	}
	x.headers.edit(x.policy.Headers.Early)
	x.removeConnectionHeaders()
	if !x.findClient(trusted) {
		return false
	}
	if address.TrustedHops == 0 && !x.detectsAddress() || x.headers.first("x-forwarded-proto") == "" {
		x.headers.set("x-forwarded-proto", x.request.scheme())
	}
	x.headers.set(schemeHeader, x.request.scheme())
	x.nameRequest()
	return true
}

// removeConnectionHeaders removes what is about the connection alone.
func (x *exchange) removeConnectionHeaders() {
	if !x.isUpgrade() {
		x.headers.remove("connection")
		x.headers.remove("upgrade")
		if te := x.headers.first("te"); te != "" && !strings.Contains(strings.ToLower(te), "trailers") {
			x.headers.remove("te")
		}
	}
	for _, name := range []string{"keep-alive", "proxy-connection", "transfer-encoding", "x-gatewright-scope"} {
		x.headers.remove(name)
	}
}

// nameRequest sets x-request-id where the proxy does.
func (x *exchange) nameRequest() {
	action := x.policy.Headers.RequestID
	if action == "" || action == ir.RequestIDGenerate ||
		action == ir.RequestIDPreserveOrGenerate && x.headers.first("x-request-id") == "" {
		x.headers.set("x-request-id", someID)
	}
}

// someID stands for an ID that a proxy makes up.
const someID = "00000000-0000-4000-8000-000000000000"

// detectsAddress says whether an extension of Envoy finds the address of the client.
func (x *exchange) detectsAddress() bool { return x.policy.Address.Header != "" || x.isTrusted() }

// isTrusted says whether the peer is a proxy that may tell who the client is.
func (x *exchange) isTrusted() bool {
	return x.request.Client.IsValid() && x.policy.Address.TrustedHops == 0 && inAny(x.policy.Address.TrustedCIDRs, x.request.Client)
}

// findClient finds the address of the client. It is false if the request is rejected.
func (x *exchange) findClient(trusted bool) bool {
	address := x.policy.Address
	forwarded := strings.Split(x.headers.first("x-forwarded-for"), ",")
	switch {
	case address.TrustedHops > 0:
		if i := len(forwarded) - int(address.TrustedHops); i >= 0 {
			x.takeClient(forwarded[i])
		}
	case trusted:
		for _, one := range slices.Backward(forwarded) {
			if a, err := netip.ParseAddr(strings.TrimSpace(one)); err != nil || !inAny(address.TrustedCIDRs, a) {
				x.takeClient(one)
				break
			}
		}
	case address.Header != "":
		if !x.takeClient(x.headers.first(address.Header)) && address.RejectMissing {
			x.fail(http.StatusForbidden, Hop{
				Name: hopRequest, Detail: fmt.Sprintf("header %s with the address of the client is missing", address.Header),
				Origin: originsOf(x.policy.Origins),
			}, "send the header from the proxy in front, or change the ClientTrafficPolicy")
			return false
		}
	}
	if !address.KeepForwardedFor && x.request.Client.IsValid() {
		x.headers.add("x-forwarded-for", x.request.Client.String())
	}
	return true
}

func (x *exchange) takeClient(text string) bool {
	a, err := netip.ParseAddr(strings.TrimSpace(text))
	if err == nil {
		x.client = a
	}
	return err == nil
}

func inAny(ranges []string, address netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(text string) bool {
		prefix, err := netip.ParsePrefix(text)
		return err == nil && prefix.Contains(address.Unmap())
	})
}

// isUpgrade says whether the client wants to switch to another protocol.
func (x *exchange) isUpgrade() bool {
	upgrade := x.headers.first("upgrade")
	if x.request.HTTP2 || upgrade == "" || strings.EqualFold(upgrade, "h2c") || hasPrefixFold(upgrade, "TLS/") ||
		slices.ContainsFunc(x.policy.HTTP1.IgnoredUpgrades, func(m ir.StringMatch) bool { return matches(m, upgrade) }) {
		return false
	}
	for token := range strings.SplitSeq(x.headers.first("connection"), ",") {
		if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
			return true
		}
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
