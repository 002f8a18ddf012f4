package ir

// RateLimitService is the group of the pods of the rate limit service, whose name no Gateway and no class can have.
var RateLimitService = Name{Name: "rate limit service"}

// RateLimitServiceName is the name of its Service and of its ServiceAccount, in Gatewright's namespace.
const RateLimitServiceName = "gatewright-ratelimit"

// GlobalRateLimit bounds how many requests pass all proxies together. The rate limit service counts them.
type GlobalRateLimit struct {
	// Policy is the policy that has the limits.
	Policy Name
	// Rules all count for a request that they are about.
	Rules []GlobalRateRule
	// Backend is the rate limit service. FailOpen lets requests pass while it gives no answer.
	Backend  Backend
	FailOpen bool
	// Guard is Broken where the limits cannot be served, so that no request may pass.
	Guard Guard `json:",omitempty"`
}

// GlobalRateRule is one of the limits.
type GlobalRateRule struct {
	RateRule
	// ID names the rule among those of the policy, by what it counts: a rule keeps its count when others come or go.
	ID string
	// Shared counts the requests of all routes together; otherwise each route has a limit of its own.
	Shared bool
	// ResponseCost is what counts in addition at the end of a response, nil for nothing.
	ResponseCost *RateCost
}

// RateLimited says whether the rate limit service counts requests with these settings.
func (p *RequestPolicy) RateLimited() bool {
	return p != nil && p.GlobalRateLimit != nil && p.GlobalRateLimit.Guard == Enforced
}

func (l *GlobalRateLimit) needs(n *Needs) {
	if l != nil {
		n.backend(l.Backend)
	}
}
