package ir

import (
	"fmt"
	"slices"
	"time"
)

// VirtualHost is the rules for one domain of one route table. It is a value of its own, so that changing one changes no other.
type VirtualHost struct {
	// Table is the route table it belongs to.
	Table string
	// Domain is an exact hostname, `*.suffix`, or `*`.
	Domain string
	// Chain is the one chain whose connections may ask for the domain, the [Chain.Name]; requests that come by another chain of the port
	// are misdirected and get 421. Empty lets every connection ask.
	Chain string
	// Filters are asked about every request, in this order, before a rule is chosen; what they change counts for the choice. One without a
	// backend can not be asked, and then every request gets 500.
	Filters []ExternalAuth
	// Rules are in order of precedence: the first that matches a request answers it. A request that none matches gets 404, unless it
	// FallsThrough to the virtual host with the longest wildcard that covers the domain.
	Rules        []Rule
	FallsThrough bool
	// Beyond are the routes that the host has no room for, as `<kind>/<namespace>/<name>`.
	Beyond []string
	// Shadowed are matches that rules before them leave no requests. Proxies do not need to know.
	Shadowed []Shadow
	// Flat says that the rules are sent as a list, however many there are.
	Flat bool
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
	// RequestHeaders and ResponseHeaders edit what passes through.
	RequestHeaders  HeaderEdit
	ResponseHeaders HeaderEdit
	CORS            *CORS
	// Exactly one of Redirect, Forward and Fail is set.
	Redirect *Redirect
	Forward  *Forward
	Fail     *Fail
	// Auth is asked about a request before anything else, if it is set.
	Auth *ExternalAuth
	// Origins are the objects beside the route that the rule has settings from, as `<kind>/<namespace>/<name>`, sorted.
	Origins []string
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
)

// String is the name people see.
func (k MatchKind) String() string { return [...]string{"Exact", "Prefix", "Regex"}[k] }

// MarshalText makes dumps readable.
func (k MatchKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (k *MatchKind) UnmarshalText(text []byte) error {
	for _, known := range []MatchKind{Exact, Prefix, Regex} {
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

// Header is one header to write. Values are literal.
type Header struct {
	Name  string
	Value string
}

// HeaderEdit changes headers: Set replaces, Add appends, Remove deletes. Each is in the order the user gave.
type HeaderEdit struct {
	Set    []Header
	Add    []Header
	Remove []string
}

// IsZero says whether the edit changes nothing.
func (e HeaderEdit) IsZero() bool { return len(e.Set) == 0 && len(e.Add) == 0 && len(e.Remove) == 0 }

// PathEdit replaces a request's path or the prefix that matched.
type PathEdit struct {
	// Full replaces the whole path when set, otherwise Prefix replaces the matched prefix.
	Full   *string
	Prefix *string
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

// Fail answers with a status code and no backend.
type Fail struct {
	StatusCode int
}

// Forward sends the request to one of Backends.
type Forward struct {
	Backends []WeightedBackend
	Rewrite  *Rewrite
	Mirrors  []Mirror
	// RequestTimeout bounds the whole exchange and BackendTimeout one try; nil means the proxy's default, zero none.
	RequestTimeout *time.Duration
	BackendTimeout *time.Duration
	// Retry is nil to try again only what the backend can not have processed.
	Retry *Retry
	// Streams says that requests may stay open and idle for long, as WebSockets do.
	Streams bool
}

// Retry says when a request is sent again: whenever the backend can not have seen it, and after answers with one of Codes.
type Retry struct {
	// Attempts is how often, beside the first time; 0 is never.
	Attempts uint32
	// Codes is sorted.
	Codes []uint32
	// Backoff is the shortest wait before another attempt; nil means the proxy's default.
	Backoff *time.Duration
}

// WeightedBackend is a share of the traffic.
type WeightedBackend struct {
	// Backend is a [Backend.Name]; empty means the reference can not be resolved and its share is answered with an error.
	Backend         string
	Weight          uint32
	RequestHeaders  HeaderEdit
	ResponseHeaders HeaderEdit
	// Rewrite comes after that of the rule.
	Rewrite *Rewrite
	// Session keeps a client on one endpoint of the backend, once the weights have chosen it.
	Session *Session
}

// Rewrite changes the request before it is sent to the backend. Empty fields keep what there is.
type Rewrite struct {
	Hostname string
	Path     *PathEdit
}

// Mirror copies a part of the requests to a backend and ignores its answers.
type Mirror struct {
	Backend string
	// Numerator and Denominator give the share that is copied.
	Numerator   uint32
	Denominator uint32
}
