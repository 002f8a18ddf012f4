package ir

import (
	"fmt"
	"slices"
	"time"
)

// VirtualHost is the rules for one domain of one route table. It is a value of its own, so that changing one changes no other.
type VirtualHost struct {
	// Table is the route table it belongs to.
	Table TableID
	// Domain is an exact hostname, `*.suffix`, or `*`.
	Domain string
	// Chain is the one chain whose connections may ask for the domain, the [Chain.Name]; requests that come by another chain of the port
	// are misdirected and get 421. Empty lets every connection ask.
	Chain string
	// Filters are passed by every request, in this order, before a rule is chosen; what they change counts for the choice. If one of them
	// cannot be served, every request gets 500.
	Filters []ListenerFilter
	// Policy has the settings of the rules that have none of their own; nil has the defaults.
	Policy *RequestPolicy
	// Rules are in order of precedence: the first that matches a request answers it. A request that none matches gets 404, unless it
	// FallsThrough to the virtual host with the longest wildcard that covers the domain.
	Rules        []Rule
	FallsThrough bool
	// Beyond are the routes that the host has no room for, as `<kind>/<namespace>/<name>`.
	Beyond []string
	// ClosedBeside are those that answer errors because rules of another route of their namespace are not known.
	ClosedBeside []string
	// Bytes is at most about how many bytes proxies are sent for the host.
	Bytes int `json:"-"`
	// Shadowed are matches that rules before them leave no requests. Proxies do not need to know.
	Shadowed []Shadow
	// Flat says that the rules are sent as a list, however many there are.
	Flat bool
}

// ClosedHost answers every request for a domain with 500. It stands for rules that are not known, so that no wider host gets the requests.
func ClosedHost(id HostID) VirtualHost {
	return VirtualHost{Table: id.Table, Domain: id.Domain, Filters: []ListenerFilter{{}}}
}

// Shadow is a match that gets no requests, by the Name of its rule and that of the one that takes them.
type Shadow struct {
	Rule, By string
	// Same says that both have the same match, and Regex that a prefix takes what a regular expression was meant for.
	Same, Regex bool
}

// Rule is one match and what happens then.
type Rule struct {
	// Name tells people where the rule comes from: `HTTPRoute/<namespace>/<name>/<rule>/<match>`.
	Name  string
	Match Match
	// RequestHeaders and ResponseHeaders edit what passes through; nil edits nothing.
	RequestHeaders  *HeaderEdit
	ResponseHeaders *HeaderEdit
	// Policy has the settings of the rule, nil for those of the virtual host; see [VirtualHost.PolicyOf].
	Policy *RequestPolicy
	// Extensions are code of users that requests pass, nil for none.
	Extensions *Extensions
	// Exactly one of Redirect, Forward, Respond and Fail is set.
	Redirect *Redirect
	Forward  *Forward
	Respond  *Response
	Fail     *Fail
}

// MatchKind is how a value is compared.
type MatchKind uint8

// The ways to compare a value.
const (
	Exact MatchKind = iota
	// Prefix compares whole path segments: `/a` matches `/a` and `/a/b`, not `/ab`.
	Prefix
	// Regex compares the whole value with an RE2 expression.
	Regex
	// Suffix compares the end of a value.
	Suffix
)

// String is the name people see.
func (k MatchKind) String() string { return [...]string{"Exact", "Prefix", "Regex", "Suffix"}[k] }

// MarshalText makes dumps readable.
func (k MatchKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (k *MatchKind) UnmarshalText(text []byte) error {
	for _, known := range []MatchKind{Exact, Prefix, Regex, Suffix} {
		if known.String() == string(text) {
			*k = known
			return nil
		}
	}
	return fmt.Errorf("%q is no way to compare a value", text)
}

// Match is a condition on a request; all parts must hold.
type Match struct {
	Path    StringMatch
	Method  string
	Headers []NamedMatch
	Query   []NamedMatch
	// Cookies are conditions on cookies, nil for none.
	Cookies *CookieMatches
	// GRPC says that the rule is for gRPC. It takes other requests too.
	GRPC bool
	// Preflight says that the match is [Match.OfPreflight] of another.
	Preflight bool
}

// MethodOptions is the method of preflights.
const MethodOptions = "OPTIONS"

// OfPreflight is the match of what a browser asks before it sends a request that fits m (Fetch, CORS-preflight request): OPTIONS, with the
// method of the request in a header.
func (m Match) OfPreflight() Match {
	asked := StringMatch{Kind: Regex, Value: ".+"}
	if m.Method != "" {
		asked = StringMatch{Value: m.Method}
	}
	m.Headers = append(slices.Clone(m.Headers),
		NamedMatch{Name: "origin", StringMatch: StringMatch{Kind: Regex, Value: ".+"}},
		NamedMatch{Name: "access-control-request-method", StringMatch: asked},
	)
	m.Method, m.Preflight = MethodOptions, true
	return m
}

// StringMatch compares one value.
type StringMatch struct {
	Kind  MatchKind
	Value string
}

// NamedMatch compares the value of a header (names in lower case) or a query parameter.
type NamedMatch struct {
	Name string
	StringMatch
}

// CookieMatches compares the values of cookies. All must fit.
type CookieMatches struct {
	List []NamedMatch
}

// All are the conditions.
func (c *CookieMatches) All() []NamedMatch {
	if c == nil {
		return nil
	}
	return c.List
}

// And is the conditions of both.
func (c *CookieMatches) And(other *CookieMatches) *CookieMatches {
	switch {
	case c == nil:
		return other
	case other == nil:
		return c
	}
	return &CookieMatches{List: slices.Concat(c.List, other.List)}
}

// Header is one header to write. Values are literal, unless they are in [HeaderEdit.Formats].
type Header struct {
	Name  string
	Value string
}

// HeaderEdit changes headers: Set replaces, Add appends, Remove deletes. Each is in the order the user gave.
type HeaderEdit struct {
	Set    []Header
	Add    []Header
	Remove []string
	// Formats are further headers to set and add, nil for none.
	Formats *HeaderFormats
}

// HeaderFormats are headers whose values are formats of Envoy: commands such as `%REQ(x-a)%` are replaced by what they stand for, and `%%`
// is a per cent sign.
type HeaderFormats struct {
	Set []Header
	Add []Header
}

// IsZero reports whether the edit changes nothing.
func (e *HeaderEdit) IsZero() bool {
	return e == nil || len(e.Set) == 0 && len(e.Add) == 0 && len(e.Remove) == 0 && e.Formats == nil
}

// And is an edit that does what both do.
func (e *HeaderEdit) And(other *HeaderEdit) *HeaderEdit {
	switch {
	case e == nil:
		return other
	case other == nil:
		return e
	}
	return &HeaderEdit{
		Set: slices.Concat(e.Set, other.Set), Add: slices.Concat(e.Add, other.Add), Remove: slices.Concat(e.Remove, other.Remove),
		Formats: e.Formats.and(other.Formats),
	}
}

func (f *HeaderFormats) and(other *HeaderFormats) *HeaderFormats {
	switch {
	case f == nil:
		return other
	case other == nil:
		return f
	}
	return &HeaderFormats{Set: slices.Concat(f.Set, other.Set), Add: slices.Concat(f.Add, other.Add)}
}

// PathEdit replaces a request's path, the prefix that matched, or what an expression matches. One of them is set.
type PathEdit struct {
	Full   *string
	Prefix *string
	Regex  *RegexEdit
}

// RegexEdit replaces what an RE2 expression matches. In the substitution `\1` to `\9` stand for the groups of the pattern.
type RegexEdit struct {
	Pattern, Substitution string
}

// Redirect answers with a Location header. Empty fields keep the request's own value.
type Redirect struct {
	Scheme   string
	Hostname string
	// Port is 0 to leave the port out of the Location, which the resolver has decided.
	Port       int32
	Path       *PathEdit
	StatusCode int
}

// Response is an answer that a user wrote. Its headers are those that the rule edits.
type Response struct {
	StatusCode int
	// Body is a format of Envoy, see [HeaderFormats]; empty for none.
	Body string
	// ContentType is that of the body, empty for plain text.
	ContentType string
}

// Fail answers with a status code and no backend.
type Fail struct {
	StatusCode int
}

// Forward sends the request to one of Backends.
type Forward struct {
	Backends []WeightedBackend
	Rewrite  *Rewrite
	Mirrors  []Mirror
	// Streams says that requests may stay open and idle for long, as WebSockets do.
	Streams bool
}

// Retry says when a request is sent again: whenever the backend cannot have seen it, and after answers with one of Codes.
type Retry struct {
	// Attempts is how often, beside the first time; 0 is never.
	Attempts uint32
	// Codes is sorted.
	Codes []uint32
	// Backoff is the shortest wait before another attempt; nil means the proxy's default. MaxBackoff is the longest, nil for ten times that.
	Backoff    *time.Duration
	MaxBackoff *time.Duration
	// Triggers are Envoy's conditions for another attempt, sorted. Without any they are those of the standard.
	Triggers []string
	// TryTimeout bounds one attempt, unless the rule has a BackendTimeout; nil does not.
	TryTimeout *time.Duration
	// PerPriority is how many attempts are made at endpoints of one priority, 0 for all.
	PerPriority uint32
}

// WeightedBackend is a share of the traffic.
type WeightedBackend struct {
	// Backend is zero if the reference cannot be resolved. Its share is answered with an error.
	Backend         Backend
	Weight          uint32
	RequestHeaders  *HeaderEdit
	ResponseHeaders *HeaderEdit
	// Rewrite comes after that of the rule.
	Rewrite *Rewrite
	// Session keeps a client on one endpoint of the backend, once the weights have chosen it.
	Session *Session
	// Picker chooses the endpoint of an InferencePool, nil for one without a picker.
	Picker *EndpointPicker
	// HideReports removes what endpoints report of their load from responses.
	HideReports bool `json:",omitempty"`
}

// Rewrite changes the request before it is sent to the backend. Empty fields keep what there is.
type Rewrite struct {
	Hostname string
	Path     *PathEdit
	// Host takes the hostname from somewhere else, if there is no Hostname; nil for nowhere.
	Host *HostRewrite
}

// HostRewrite says where a hostname comes from. At most one of Header, Path and Backend is set.
type HostRewrite struct {
	// Header is the name of the header that has it.
	Header string
	// Path makes it of the path.
	Path *RegexEdit
	// Backend says that it is that of the endpoint.
	Backend bool
	// Hidden says that the backend does not get to know the host that the client asked for, whatever the host is rewritten to.
	Hidden bool
}

// FromRequest reports whether the hostname comes from the request or the endpoint.
func (h *HostRewrite) FromRequest() bool {
	return h != nil && (h.Header != "" || h.Path != nil || h.Backend)
}

// Mirror copies a part of the requests to a backend and ignores its answers.
type Mirror struct {
	Backend Backend
	// Numerator and Denominator give the share that is copied.
	Numerator   uint32
	Denominator uint32
}
