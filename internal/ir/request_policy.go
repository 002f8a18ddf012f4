package ir

import (
	"reflect"
	"slices"
	"time"
)

// RequestPolicy has the settings for requests: those of a rule, or of all rules of a virtual host that have none of their own. All rules
// with the same settings of a route share one value, which is never modified. Nil has the defaults.
//
// A field with the tag `setting` is one setting of policies, by that name; it is merged as a whole, and zero where nothing is said. The tag
// `inline` is the field of a route's rule that says the same. A list with the tag `merge:"add"` is not replaced by a more specific one:
// both count.
type RequestPolicy struct {
	// Auth is asked about a request before anything else, if it is set.
	Auth *ExternalAuth `setting:"extAuth" inline:"filter ExternalAuth"`
	CORS *CORS         `setting:"cors" inline:"filter CORS"`
	CSRF *CSRF         `setting:"csrf"`
	// JWT, OIDC, BasicAuth and APIKeyAuth say which clients may send a request. All of them have to let it pass.
	JWT        *JWT        `setting:"jwt"`
	OIDC       *OIDC       `setting:"oidc"`
	BasicAuth  *BasicAuth  `setting:"basicAuth"`
	APIKeyAuth *APIKeyAuth `setting:"apiKeyAuth"`
	// Authentication says that one of these is enough, nil for all.
	Authentication *Authentication `setting:"authentication"`
	// Authorization is what each policy allows. All of them have to.
	Authorization []Authorization `setting:"authorization" merge:"add"`
	// RequestTimeout bounds the whole exchange and BackendTimeout one try; nil means the proxy's default, zero none.
	RequestTimeout *time.Duration `setting:"timeout.http.requestTimeout" inline:"timeouts.request"`
	BackendTimeout *time.Duration
	// MaxStreamDuration bounds a request from its first byte to the last byte of its response, and StreamIdleTimeout the time in which
	// nothing moves; nil means the proxy's default, zero none.
	MaxStreamDuration *time.Duration `setting:"timeout.http.maxStreamDuration"`
	StreamIdleTimeout *time.Duration `setting:"timeout.http.streamIdleTimeout"`
	// Retry is nil to try again only what the backend cannot have processed.
	Retry     *Retry          `setting:"retry" inline:"retry"`
	RateLimit *LocalRateLimit `setting:"rateLimit.local"`
	// GlobalRateLimit counts the requests of all proxies together.
	GlobalRateLimit *GlobalRateLimit `setting:"rateLimit.global"`
	Fault           *Fault           `setting:"faultInjection"`
	// Compressors are in the order in which they are preferred.
	Compressors []Compressor `setting:"compressor"`
	// BufferLimit receives a request as a whole, up to so many bytes; 0 does not.
	BufferLimit uint32            `setting:"requestBuffer"`
	Bandwidth   *Bandwidth        `setting:"bandwidthLimit"`
	Admission   *AdmissionControl `setting:"admissionControl"`
	// Overrides replace responses.
	Overrides []ResponseOverride `setting:"responseOverride"`
	// Upgrades are protocols beside WebSockets.
	Upgrades []string        `setting:"httpUpgrade"`
	Tracing  *RouteTelemetry `setting:"telemetry.tracing"`
	// StatPrefix is the name of statistics, which may have variables for the route; empty for none.
	StatPrefix string `setting:"telemetry.metrics.routeStatName"`
	// FailClosed answers every request with an error: what is to be asked before a request passes is not known.
	FailClosed bool
	// Origins are the objects beside the route that the settings come from, sorted. A setting that is not there is a field of the route.
	Origins []Origin
}

// IsZero reports whether every setting has its default.
func (p *RequestPolicy) IsZero() bool { return p == nil || reflect.ValueOf(*p).IsZero() }

// Objects are the objects beside the route that the settings come from, sorted, each once.
func (p *RequestPolicy) Objects() []ObjectRef {
	if p == nil {
		return nil
	}
	return objectsOf(p.Origins)
}

func objectsOf(origins []Origin) []ObjectRef {
	objects := make([]ObjectRef, 0, len(origins))
	for _, o := range origins {
		objects = append(objects, o.Object)
	}
	slices.SortFunc(objects, ObjectRef.Compare)
	return slices.Compact(objects)
}

// Backends are those that the settings name, sorted, each once.
func (p *RequestPolicy) Backends() []Backend { return NeedsOf(p).Backends() }

// Secrets are those that the settings name, sorted, each once.
func (p *RequestPolicy) Secrets() []string { return NeedsOf(p).Secrets() }

func (p *RequestPolicy) needs(n *Needs) {
	if p != nil {
		p.Auth.needs(n)
		p.JWT.needs(n)
		p.OIDC.needs(n)
		p.GlobalRateLimit.needs(n)
	}
}

var defaultRequestPolicy = &RequestPolicy{}

// PolicyOf is the policy of a rule: its own, or that of the host. It is never nil.
func (h *VirtualHost) PolicyOf(r *Rule) *RequestPolicy {
	switch {
	case r.Policy != nil:
		return r.Policy
	case h.Policy != nil:
		return h.Policy
	default:
		return defaultRequestPolicy
	}
}
