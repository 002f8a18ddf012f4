package explain

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
)

// filtersOfListener is what a request passes before a rule counts.
func (x *exchange) filtersOfListener(host *ir.VirtualHost) {
	for i := range host.Filters {
		f := &host.Filters[i]
		name := "authorization server"
		if f.ExtProc != nil {
			name = "processing server"
		}
		x.hop(Hop{
			Name: hopFilter, Object: fmt.Sprintf("%s %s", f.Backend().Kind, f.Backend().Object),
			Detail: "a filter of the listener asks this server about every request; it may send the request to another rule",
			Origin: "listener " + x.chain.Name,
		})
		x.alternative(0, name, "the server rejects or changes the request, or does not answer", "listener "+x.chain.Name)
	}
}

// step is one filter that is configured by the rule. It returns false if it ends the request.
type step struct {
	setting string
	pass    func(x *exchange, s settings) bool
}

// steps are in the order of Envoy's filters.
var steps = []step{
	{"cors", (*exchange).preflight},
	{"csrf", (*exchange).crossOrigin},
	{"extAuth", (*exchange).externalAuth},
	{"authentication", (*exchange).authenticate},
	{"authorization", (*exchange).authorize},
	{"rateLimit.local", (*exchange).localLimit},
	{"rateLimit.global", (*exchange).globalLimit},
	{"admissionControl", (*exchange).admissionControl},
	{"extensions", (*exchange).extensions},
	{"faultInjection", (*exchange).fault},
	{"requestBuffer", (*exchange).buffer},
}

// hostSteps are those that Envoy configures for a whole virtual host, and so for its routes that are no rules too.
var hostSteps = []step{
	{"extAuth", (*exchange).externalAuth},
	{"jwt", (*exchange).sharedToken},
	{"rateLimit.local", (*exchange).localLimit},
	{"admissionControl", (*exchange).admissionControl},
	{"faultInjection", (*exchange).fault},
	{"requestBuffer", (*exchange).buffer},
}

// settings are what applies to a rule.
type settings struct {
	*ir.RequestPolicy
	host *ir.VirtualHost
	rule *ir.Rule
	// closed says that the rule answers an error, so that filters that only let requests pass do not run, and shared that those which the
	// whole virtual host has run all the same. forwards says that a backend may get the request.
	closed, shared, forwards bool
}

// settingsOf are the settings of a rule in a virtual host. late says that Envoy finds the host when it has chosen the filters already.
func settingsOf(host *ir.VirtualHost, rule *ir.Rule, late bool) settings {
	policy := host.PolicyOf(rule)
	if late && rule.Policy != nil && host.Policy != nil && !host.Policy.FailsClosed() {
		policy = withHostSettings(rule.Policy, host.Policy)
	}
	return settings{
		RequestPolicy: policy, host: host, rule: rule, closed: rule.Fail != nil || policy.FailsClosed(),
		shared: rule.Policy == nil && host.Policy != nil && !host.Policy.FailsClosed(),
		forwards: rule.Forward != nil && !policy.FailsClosed() &&
			slices.ContainsFunc(rule.Forward.Backends, func(b ir.WeightedBackend) bool { return b.Weight > 0 }),
	}
}

// withHostSettings are the settings of a rule with those of its virtual host that it cannot turn off: to disable a filter for a route has
// no effect on a request that has the filter already.
func withHostSettings(rule, host *ir.RequestPolicy) *ir.RequestPolicy {
	p := *rule
	if p.CORS == nil || p.CORS.Guard == ir.Off {
		p.CORS = host.CORS
	}
	if p.RateLimit == nil {
		p.RateLimit = host.RateLimit
	}
	if p.Fault == nil {
		p.Fault = host.Fault
	}
	if p.Admission == nil {
		p.Admission = host.Admission
	}
	if p.BufferLimit == 0 {
		p.BufferLimit = host.BufferLimit
	}
	if len(p.Overrides) == 0 {
		p.Overrides = host.Overrides
	}
	return &p
}

// passHost has a request pass the filters of its virtual host, where it has no rule. It returns false if they end it.
func (x *exchange) passHost(host *ir.VirtualHost) bool {
	s := settingsOf(host, &ir.Rule{Name: host.Domain}, false)
	for _, step := range hostSteps {
		if !step.pass(x, s) {
			x.override(&s)
			return false
		}
	}
	return true
}

// origin is the object that a setting comes from.
func (s *settings) origin(setting string) string {
	var objects []ir.ObjectRef
	for _, o := range s.Origins {
		if o.Setting == setting {
			objects = append(objects, o.Object)
		}
	}
	if len(objects) == 0 {
		return DescribeRule(s.rule.Name)
	}
	return originsOf(objects)
}

// apply has a request pass the filters of its rule, and then does what the rule says.
func (x *exchange) apply(c choice) {
	s := settingsOf(c.host, c.rule, c.late)
	s.forwards = s.forwards || c.preflight
	x.listSettings(&s)
	all := steps
	if c.preflight {
		// Its route has nothing but CORS.
		all = steps[:1]
	}
	for _, step := range all {
		if !step.pass(x, s) {
			x.override(&s)
			return
		}
	}
	if c.preflight {
		x.fail(unserved(c.rule), Hop{Name: hopBackend, Detail: "the rule has no backend for preflights"}, "")
	} else {
		x.act(&s)
	}
	x.override(&s)
}

// act does what the rule says.
func (x *exchange) act(s *settings) {
	rule := s.rule
	name := DescribeRule(rule.Name)
	switch {
	case s.FailsClosed():
		x.fail(unserved(rule), Hop{
			Name: hopFilter, Object: name, Detail: "a security setting or a limit of the rule cannot be resolved, so that no request may pass",
			Origin: originsOf(s.Objects()),
		}, "correct the policy: its status says what is wrong")
	case rule.Redirect != nil:
		x.redirect(s)
	case rule.Respond != nil:
		x.hop(Hop{Name: hopResponse, Object: name, Detail: "the rule has a response of its own"})
		x.answer(served(rule.Respond.StatusCode), name+" answers by itself")
	case rule.Fail != nil:
		x.listProblems(rule)
		x.fail(served(rule.Fail.StatusCode), Hop{Name: hopRule, Object: name, Detail: name + " cannot be served"},
			"correct its filters and references; the conditions Accepted and ResolvedRefs of the route say what is wrong")
	case s.forwards:
		x.timeouts(s)
		x.forward(rule)
	default:
		x.fail(unserved(rule), Hop{Name: hopBackend, Object: name, Detail: name + " has no backend with a weight above 0"},
			"give the rule a backendRef")
	}
}

// served is a status that Envoy can answer.
func served(status int) int {
	const first, last = 200, 599
	if status < first || status > last {
		return http.StatusInternalServerError
	}
	return status
}

// listSettings adds a hop for each setting that applies, with its origin.
func (x *exchange) listSettings(s *settings) {
	value := reflect.ValueOf(*s.RequestPolicy)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		setting := field.Tag.Get("setting")
		if setting == "" || value.Field(i).IsZero() {
			continue
		}
		x.hop(Hop{Name: hopSetting, Object: setting, Detail: describeSetting(s.RequestPolicy, setting), Origin: s.origin(setting)})
	}
	for _, e := range []struct {
		edit *ir.HeaderEdit
		what string
	}{{s.rule.RequestHeaders, "request headers"}, {s.rule.ResponseHeaders, "response headers"}} {
		if !e.edit.IsZero() {
			x.hop(Hop{Name: hopSetting, Object: e.what, Detail: "edited", Origin: DescribeRule(s.rule.Name)})
		}
	}
	x.listForward(s.rule)
}

// listForward adds a hop for each change that a rule makes on the way to a backend, and for copies of the request.
func (x *exchange) listForward(rule *ir.Rule) {
	if rule.Forward == nil {
		return
	}
	if r := rule.Forward.Rewrite; r != nil {
		x.hop(Hop{Name: hopSetting, Object: "URL rewrite", Detail: describeRewrite(r), Origin: DescribeRule(rule.Name)})
	}
	for _, m := range rule.Forward.Mirrors {
		if m.Backend.IsZero() {
			continue
		}
		x.hop(Hop{
			Name: hopSetting, Object: "mirror", Origin: DescribeRule(rule.Name),
			Detail: fmt.Sprintf("%d of %d requests are copied to %s %s", m.Numerator, m.Denominator, m.Backend.Kind, m.Backend.Object),
		})
	}
}

func describeRewrite(r *ir.Rewrite) string {
	var parts []string
	if r.Hostname != "" {
		parts = append(parts, "host "+r.Hostname)
	}
	if r.Host.FromRequest() {
		parts = append(parts, "host from the request or the endpoint")
	}
	if p := r.Path; p != nil {
		switch {
		case p.Full != nil:
			parts = append(parts, "path "+*p.Full)
		case p.Prefix != nil:
			parts = append(parts, "prefix "+*p.Prefix)
		case p.Regex != nil:
			parts = append(parts, fmt.Sprintf("path %s becomes %s", p.Regex.Pattern, p.Regex.Substitution))
		}
	}
	return strings.Join(parts, ", ")
}

// timeouts are answered 504.
func (x *exchange) timeouts(s *settings) {
	for _, t := range []struct {
		limit *time.Duration
		when  string
	}{
		{s.RequestTimeout, "the response takes longer than %s"}, {s.BackendTimeout, "a backend takes longer than %s for one attempt"},
	} {
		if t.limit != nil && *t.limit > 0 {
			x.alternative(http.StatusGatewayTimeout, "timeout", fmt.Sprintf(t.when, t.limit), s.origin("timeout.http.requestTimeout"))
		}
	}
}

// describeSetting is a setting in a few words, empty where its name says enough.
func describeSetting(p *ir.RequestPolicy, setting string) string {
	switch setting {
	case "timeout.http.requestTimeout":
		return p.RequestTimeout.String()
	case "timeout.http.maxStreamDuration":
		return p.MaxStreamDuration.String()
	case "timeout.http.streamIdleTimeout":
		return p.StreamIdleTimeout.String()
	case "retry":
		return fmt.Sprintf("%d attempts", p.Retry.Attempts)
	case "requestBuffer":
		return fmt.Sprintf("%d bytes", p.BufferLimit)
	default:
		return ""
	}
}

// override replaces an answer as the policy says.
func (x *exchange) override(s *settings) {
	for i := range s.Overrides {
		o := &s.Overrides[i]
		if x.out.Status == 0 || o.Local != nil && !*o.Local {
			if o.StatusCode > 0 && (o.Local == nil || !*o.Local) {
				x.alternative(int(o.StatusCode), "responseOverride", "the backend answers with one of its codes", s.origin("responseOverride"))
			}
			continue
		}
		inRange := len(o.Codes) == 0 || slices.ContainsFunc(o.Codes, func(r ir.CodeRange) bool {
			return uint32(x.out.Status) >= r.First && uint32(x.out.Status) <= r.Last //nolint:gosec // a status
		})
		if !inRange {
			continue
		}
		if len(o.Headers) > 0 {
			x.alternative(int(o.StatusCode), "responseOverride", "the response has the headers that it matches", s.origin("responseOverride"))
			continue
		}
		if o.StatusCode > 0 {
			x.hop(Hop{
				Name: hopResponse, Value: fmt.Sprint(x.out.Status), Origin: s.origin("responseOverride"),
				Detail: fmt.Sprintf("responseOverride answers %d instead", o.StatusCode),
			})
			x.answer(int(o.StatusCode), x.out.Reason)
		}
		return
	}
}
