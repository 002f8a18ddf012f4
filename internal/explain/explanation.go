package explain

import (
	"fmt"
	"strings"
)

// Result is what becomes of a request.
type Result string

// What can become of a request.
const (
	// Forwarded goes to a backend, which answers it.
	Forwarded Result = "Forwarded"
	// Answered is answered by the proxy itself.
	Answered Result = "Answered"
	// Redirected is answered by the proxy with a Location.
	Redirected Result = "Redirected"
	// Closed gets no answer: the connection is closed.
	Closed Result = "Closed"
	// Passed is not looked into: the whole connection goes to a backend.
	Passed Result = "Passed"
)

// Explanation is what becomes of a request, and why.
type Explanation struct {
	Result Result `json:"result"`
	// Status is what the proxy answers, 0 where it does not.
	Status int `json:"status,omitempty"`
	// GRPCStatus is that of an answer to a gRPC client, whose Status is 200.
	GRPCStatus *int `json:"grpcStatus,omitempty"`
	// Reason says why, in one sentence.
	Reason string `json:"reason"`
	// Location is where a redirect leads.
	Location string `json:"location,omitempty"`
	// Gateway, Listener, Host and Rule are how far the request comes. Rule is the name of Envoy's route.
	Gateway  string `json:"gateway,omitempty"`
	Listener string `json:"listener,omitempty"`
	Host     string `json:"host,omitempty"`
	Rule     string `json:"rule,omitempty"`
	// Hops are what the request passes, in order. The last is the one that fails, if one does.
	Hops []Hop `json:"hops"`
	// Backends are where a forwarded request may go.
	Backends []Backend `json:"backends,omitempty"`
	// Alternatives are other answers that are possible, by what only a proxy at work knows.
	Alternatives []Alternative `json:"alternatives,omitempty"`
	// Candidates are rules of the host that do not get the request, the nearest first. Omitted is how many more there are.
	Candidates []Candidate `json:"candidates,omitempty"`
	Omitted    int         `json:"omittedCandidates,omitempty"`
	// Unserved are routes that name the host, and Gateways, that have a problem.
	Unserved []Unserved `json:"unserved,omitempty"`
	// Fix is what to do about a failure, empty if there is none.
	Fix string `json:"fix,omitempty"`
}

// Hop is one decision on the way of a request.
type Hop struct {
	// Name is what is decided: address, listener, TLS name, request, host, rule, setting, filter, backend or response.
	Name string `json:"name"`
	// Value is what of the request counts, and Object what decides.
	Value  string `json:"value,omitempty"`
	Object string `json:"object,omitempty"`
	// Failed says that the request comes no further.
	Failed bool   `json:"failed,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Origin is the object that the setting comes from.
	Origin string `json:"origin,omitempty"`
}

// Backend is where a share of the requests goes.
type Backend struct {
	// Cluster is the name of Envoy's cluster, empty for a reference that cannot be resolved.
	Cluster string `json:"cluster,omitempty"`
	Object  string `json:"object"`
	Port    int32  `json:"port,omitempty"`
	Weight  uint32 `json:"weight"`
	// Endpoints is how many there are, nil if that is not known.
	Endpoints *int `json:"endpoints,omitempty"`
	// Status is what the proxy answers for this share itself, 0 if the backend answers.
	Status int    `json:"status,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Alternative is another answer that is possible.
type Alternative struct {
	// Status is 0 for any.
	Status int `json:"status,omitempty"`
	// Filter is what answers, and When says in which case.
	Filter string `json:"filter"`
	When   string `json:"when"`
	Origin string `json:"origin,omitempty"`
}

// Candidate is a rule that does not get the request.
type Candidate struct {
	Rule  string `json:"rule"`
	Match string `json:"match"`
	// Misses are the parts that do not match; none if a rule before it takes the request.
	Misses []Miss `json:"misses,omitempty"`
	// By is the rule that takes the request, where this one matches too.
	By string `json:"by,omitempty"`
}

// Miss is a part of a match that does not fit the request.
type Miss struct {
	// Part is path, method, header, query or cookie, and Name the name of the last three.
	Part string `json:"part"`
	Name string `json:"name,omitempty"`
	Want string `json:"want"`
	// Got is empty for what is not there.
	Got string `json:"got,omitempty"`
}

func (m Miss) String() string {
	what := m.Part
	if m.Name != "" {
		what += " " + m.Name
	}
	if m.Got == "" {
		return fmt.Sprintf("%s: %s wanted, none sent", what, m.Want)
	}
	return fmt.Sprintf("%s: %s sent, %s wanted", what, m.Got, m.Want)
}

// Unserved is a route that names the host of a request, or a Gateway that may be the one that is asked for, with what is wrong with it.
type Unserved struct {
	Object   string   `json:"object"`
	Problems []string `json:"problems,omitempty"`
}

// Certain says that nothing else can be answered, apart from what backends do.
func (e *Explanation) Certain() bool { return len(e.Alternatives) == 0 }

// Failed says that the request gets an error of the proxy, or none of its answers.
func (e *Explanation) Failed() bool {
	const firstError = 400
	return e.Result == Closed || e.Status >= firstError || e.GRPCStatus != nil && *e.GRPCStatus != 0
}

// DescribeRule is the name of a rule in words: `HTTPRoute shop/web rule 2`.
func DescribeRule(name string) string {
	const parts = 5
	p := strings.Split(name, "/")
	if len(p) != parts {
		return name
	}
	return fmt.Sprintf("%s %s/%s rule %s", p[0], p[1], p[2], p[3])
}
