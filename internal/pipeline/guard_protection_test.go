package pipeline

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/ir"
)

// protection is what stands between a request and its backend.
type protection struct {
	rule    string
	host    *ir.VirtualHost
	filters []ir.ListenerFilter
	// clients is what the listener asks of the certificates of clients.
	clients *ir.ClientValidation
	guard   *ir.RuleGuard
	// inherited says that the guard is from above the route, where others may have one of their own instead.
	inherited bool
	// passes says that the request may get through.
	passes bool
}

func (p protection) String() string {
	if !p.passes {
		return "an error"
	}
	text := fmt.Sprintf("%s with %d filters of its listener", p.rule, len(p.filters))
	if p.guard != nil && p.guard.Policy != nil && p.guard.Policy.Auth != nil {
		text += ", asking " + p.guard.Policy.Auth.Backend.String()
	}
	return text + ", guarded by " + strings.Join(p.settings(), ", ")
}

// What guards a request beside the settings of policies.
const (
	extensions   = "extensions"
	certificates = "client certificates"
)

// settings are what guards the rule, and whether its listener asks for certificates.
func (p protection) settings() []string {
	var names []string
	add := func(name string, there bool) {
		if there {
			names = append(names, name)
		}
	}
	add(certificates, p.clients != nil)
	if p.guard == nil {
		return names
	}
	add(extensions, len(p.guard.Extensions.All()) > 0)
	if own := p.guard.Policy; own != nil {
		add("extAuth", own.Auth != nil)
		add("jwt", own.JWT != nil && own.JWT.Guard == ir.Enforced)
		add("basicAuth", own.BasicAuth != nil && own.BasicAuth.Guard == ir.Enforced)
		add("apiKeyAuth", own.APIKeyAuth != nil && own.APIKeyAuth.Guard == ir.Enforced)
		add("any authentication", own.Authentication != nil && own.Authentication.Any)
		add("authorization", len(own.Authorization) > 0)
		add("csrf", own.CSRF != nil)
		add("rateLimit.local", own.RateLimit != nil)
		add("rateLimit.global", own.GlobalRateLimit != nil && own.GlobalRateLimit.Guard == ir.Enforced)
	}
	return names
}

func (v view) protection(request explain.Request) protection {
	e := explain.Explain(&v.config, request)
	for id := range v.config.Hosts {
		if id.Domain != e.Host || id.Table.Gateway != e.Gateway || id.Table.Port != request.Port {
			continue
		}
		host := v.config.Hosts[id]
		i := slices.IndexFunc(host.Rules, func(r ir.Rule) bool { return r.Name == e.Rule && !r.Match.Preflight })
		if i < 0 {
			return protection{}
		}
		rule := host.Rules[i]
		p := protection{rule: rule.Name, host: &host, filters: host.Filters, inherited: rule.Guard() == nil}
		p.clients = v.clients(e.Gateway, request.Port, e.Listener)
		rule.Policy = host.PolicyOf(&rule)
		p.guard = rule.Guard()
		p.passes = p.guard == nil || !p.guard.Closed
		return p
	}
	return protection{}
}

// clients is what a listener asks of the certificates of clients.
func (v view) clients(gateway string, port int32, listener string) *ir.ClientValidation {
	for _, gw := range v.config.Gateways {
		for _, p := range gw.Ports {
			i := slices.IndexFunc(p.Chains, func(c ir.Chain) bool { return c.Name == listener })
			if i >= 0 && gw.Name.String() == gateway && p.Number == port && !p.Protocol.Datagrams() {
				return cmp.Or(p.Chains[i].Clients, p.Chains[i].Client().TLS.Clients)
			}
		}
	}
	return nil
}

func (p protection) guarded() bool {
	return p.passes && (len(p.filters) > 0 || p.guard != nil || p.clients != nil)
}

// covers says whether nothing is missing that was there before.
func (p protection) covers(before protection) bool {
	if len(before.filters) > 0 && !reflect.DeepEqual(p.filters, before.filters) {
		return false
	}
	switch {
	case before.clients != nil && !reflect.DeepEqual(p.clients, before.clients):
		return false
	case before.guard == nil:
		return true
	case p.guard == nil:
		return false
	}
	for _, e := range before.guard.Extensions.All() {
		if !slices.ContainsFunc(p.guard.Extensions.All(), func(own ir.Extension) bool { return reflect.DeepEqual(own, e) }) {
			return false
		}
	}
	return keeps(p.guard.Policy, before.guard.Policy, before.inherited && !p.inherited)
}

// keeps says whether no setting is missing. A rule may have one of its own instead of one that is inherited.
func keeps(own, wanted *ir.RequestPolicy, instead bool) bool {
	switch {
	case wanted == nil:
		return true
	case own == nil:
		return false
	case missing(own.Auth, wanted.Auth, instead), missing(own.JWT, wanted.JWT, instead), missing(own.BasicAuth, wanted.BasicAuth, instead),
		missing(own.APIKeyAuth, wanted.APIKeyAuth, instead), missing(own.CSRF, wanted.CSRF, instead),
		missing(own.RateLimit, wanted.RateLimit, instead), missing(own.GlobalRateLimit, wanted.GlobalRateLimit, instead):
		return false
	case !instead && own.Authentication != nil && own.Authentication.Any && !acceptsNoMore(own, wanted):
		return false
	}
	return !slices.ContainsFunc(wanted.Authorization, func(a ir.Authorization) bool {
		return !slices.ContainsFunc(own.Authorization, func(b ir.Authorization) bool { return reflect.DeepEqual(a, b) })
	})
}

func missing[S any](own, wanted *S, instead bool) bool {
	return wanted != nil && (own == nil || !instead && !reflect.DeepEqual(own, wanted))
}

// acceptsNoMore says whether settings of which one is enough are the same as before, when one was enough too.
func acceptsNoMore(own, wanted *ir.RequestPolicy) bool {
	return reflect.DeepEqual(own.Authentication, wanted.Authentication) && reflect.DeepEqual(own.JWT, wanted.JWT) &&
		reflect.DeepEqual(own.BasicAuth, wanted.BasicAuth) && reflect.DeepEqual(own.APIKeyAuth, wanted.APIKeyAuth)
}
