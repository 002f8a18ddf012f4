package explain

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// redirect answers with a Location.
func (x *exchange) redirect(s *settings) {
	status := s.rule.Redirect.StatusCode
	if !slices.Contains([]int{301, 302, 303, 307, 308}, status) {
		status = http.StatusFound
	}
	location := x.location(s)
	x.hop(Hop{Name: hopResponse, Object: DescribeRule(s.rule.Name), Detail: "redirects to " + location})
	x.answer(status, fmt.Sprintf("%s redirects to %s", DescribeRule(s.rule.Name), location))
	x.out.Result, x.out.Location = Redirected, location
}

var endsWithPort = regexp.MustCompile(`:[0-9]+\z`)

// location is where a redirect leads: what the rule says, and otherwise what the request has.
func (x *exchange) location(s *settings) string {
	r := s.rule.Redirect
	scheme, host, port := r.Scheme, r.Hostname, r.Port
	if scheme == "" {
		scheme = x.headers.first(schemeHeader)
	}
	authority := x.headers.first(authorityHeader)
	if host == "" && port == 0 {
		switch {
		case !isWildcard(s.host.Domain):
			host = s.host.Domain
		case endsWithPort.MatchString(authority):
			// Envoy drops a port only for another.
			port = usualPort(r.Scheme == "https" || r.Scheme == "" && s.host.Chain != "")
		}
	}
	if host == "" {
		host = x.redirectedHost(authority, scheme, port)
	}
	if port > 0 {
		host = fmt.Sprintf("%s:%d", host, port)
	}
	return scheme + "://" + host + editedPath(s.rule, x.path)
}

// redirectedHost is the host of the request, without its port where another is named, or where it is the usual one of another scheme.
func (x *exchange) redirectedHost(authority, scheme string, port int32) string {
	colon := strings.LastIndexByte(authority, ':')
	if strings.HasPrefix(authority, "[") {
		if colon = strings.LastIndex(authority, "]:"); colon >= 0 {
			colon++
		}
	}
	if colon < 0 {
		return authority
	}
	before := x.headers.first("x-forwarded-proto")
	usual := before == "https" && authority[colon:] == ":443" || before == "http" && authority[colon:] == ":80"
	if port > 0 || scheme != before && usual {
		return authority[:colon]
	}
	return authority
}

// editedPath is a path with its query as a redirect edits it.
func editedPath(rule *ir.Rule, path string) string {
	edit := rule.Redirect.Path
	before, query := cutQuery(path)
	switch {
	case edit == nil:
		return path
	case edit.Full != nil:
		full := "/" + strings.TrimPrefix(*edit.Full, "/")
		if strings.Contains(full, "?") {
			return full
		}
		return full + query
	case edit.Prefix != nil && rule.Match.Path.Kind != ir.Regex:
		matched := strings.TrimRight(rule.Match.Path.Value, "/")
		if rule.Match.Path.Kind == ir.Exact {
			matched = rule.Match.Path.Value
		}
		rest := strings.TrimPrefix(before, matched)
		return "/" + strings.TrimPrefix(strings.TrimRight(*edit.Prefix, "/")+rest, "/") + query
	default:
		return path
	}
}
