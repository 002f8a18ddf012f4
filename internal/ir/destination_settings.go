package ir

import "time"

// CircuitBreaker bounds what a proxy may have open to a backend; nil is the default.
type CircuitBreaker struct {
	Connections, Pending, Requests *uint32
	// Retries are under way at a time. RetryBudget wins over it.
	Retries     *uint32
	RetryBudget *RetryShare
	// PerConnection is how many requests a connection may have, 0 for any number.
	PerConnection uint32
	// PerEndpoint is how many connections an endpoint may have.
	PerEndpoint *uint32
}

// RetryShare bounds retries to a share of the requests under way.
type RetryShare struct {
	Percent float64
	Minimum uint32
}

// ActiveCheck asks endpoints whether they are healthy.
type ActiveCheck struct {
	Timeout, Interval, Jitter time.Duration
	Unhealthy, Healthy        uint32
	// Exactly one of HTTP, TCP and GRPC is set.
	HTTP *HTTPCheck
	TCP  *TCPCheck
	GRPC *GRPCCheck
	// Log is a path, empty for none. LogFailures and LogSuccesses log every answer, not only changes.
	Log                       string
	LogFailures, LogSuccesses bool
}

// HTTPCheck asks by HTTP.
type HTTPCheck struct {
	// Host is empty for the name of the backend.
	Host, Path, Method  string
	Expected, Retriable []uint32
	// Body is sent, and Answer has to be in the response. Each may be empty.
	Body, Answer []byte
}

// TCPCheck connects, sends bytes and expects bytes. Each may be empty.
type TCPCheck struct{ Send, Receive []byte }

// GRPCCheck asks about a service, or about the server if it is empty.
type GRPCCheck struct{ Service string }

// PassiveCheck ejects endpoints whose responses are errors. A number that is 0 ejects none.
type PassiveCheck struct {
	Split                         bool
	Interval, EjectionTime        time.Duration
	LocalFailures, Gateway, Error uint32
	MaxPercent                    uint32
	// FailurePercent is nil to eject none for that.
	FailurePercent *uint32
	AlwaysOne      bool
}

// The load balancers.
const (
	BalanceHash        = "ConsistentHash"
	BalanceLeast       = "LeastRequest"
	BalanceRandom      = "Random"
	BalanceRoundRobin  = "RoundRobin"
	BalanceUtilization = "BackendUtilization"
)

// LoadBalancer chooses an endpoint of a backend.
type LoadBalancer struct {
	Type string
	Hash *HashPolicy
	// Utilization is set for that type.
	Utilization *Utilization
	// OverrideHeaders may name the endpoint, the first before the others.
	OverrideHeaders []string
	// SlowStart is how long an endpoint is new, 0 for never.
	SlowStart time.Duration
}

// HashPolicy is which values of a request count. Exactly one of SourceIP, Headers, Cookie and Query is set.
type HashPolicy struct {
	SourceIP bool
	Headers  []string
	Query    []string
	Cookie   *HashCookie
	// TableSize is 0 for the default.
	TableSize uint64
}

// HashCookie is a cookie. The proxy sets it if TTL is not nil; zero is for a session.
type HashCookie struct {
	Name       string
	TTL        *time.Duration
	Attributes []Header
}

// Utilization weighs endpoints by what they report. Zero is the default.
type Utilization struct {
	Blackout, Expiration, Update *time.Duration
	// Penalty is a factor.
	Penalty *float32
	Metrics []string
	// OutOfBand is nil where reports come with responses.
	OutOfBand *OutOfBand
	// KeepReports passes reports in responses on to clients.
	KeepReports bool `json:",omitempty"`
}

// HidesReports says whether clients do not see what endpoints report of their load.
func (s *DestinationSettings) HidesReports() bool {
	return s != nil && s.LoadBalancer != nil && s.LoadBalancer.Utilization != nil && !s.LoadBalancer.Utilization.KeepReports
}

// OutOfBand asks endpoints for reports.
type OutOfBand struct {
	Period    time.Duration
	Port      uint32
	Authority string
}

// Preconnect makes connections ahead of time, as factors; 0 is the default.
type Preconnect struct{ PerEndpoint, Predictive float64 }

// HTTP2Settings are settings of HTTP/2. Zero is the default.
type HTTP2Settings struct {
	StreamWindow, ConnectionWindow, MaxStreams uint32
	CloseOnInvalid                             bool
	Keepalive                                  *HTTP2Keepalive
}

// The families of addresses that a name is resolved to.
const (
	LookupIPv4          = "IPv4"
	LookupIPv6          = "IPv6"
	LookupIPv4Preferred = "IPv4Preferred"
	LookupIPv6Preferred = "IPv6Preferred"
	LookupBoth          = "IPv4AndIPv6"
)

// DNS is how a name is resolved. Zero is the default.
type DNS struct {
	Refresh   time.Duration
	IgnoreTTL bool
	Family    string
}
