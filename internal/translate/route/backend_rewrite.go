package route

import (
	"reflect"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// part is a rule, or the part of it that one backend serves, and the share of requests that reach it.
type part struct {
	*ir.Rule
	// fraction is nil for all the requests that come this far.
	fraction *corev3.RuntimeFractionalPercent
}

// parts makes one route's worth of each backend where backends rewrite the path differently: Envoy rewrites the path of a route, not of
// a weighted cluster. Everywhere else there is one part.
//
// Envoy draws once for a request and compares that number with each fraction, so fractions add up: with weights 2, 3 and 5 they are
// 20 %, 50 % and the rest.
func parts(rule *ir.Rule) []part {
	if rule.Forward == nil {
		return []part{{Rule: rule}}
	}
	backends := slices.DeleteFunc(slices.Clone(rule.Forward.Backends), func(b ir.WeightedBackend) bool { return b.Weight == 0 })
	if !slices.ContainsFunc(backends, func(b ir.WeightedBackend) bool { return b.Rewrite != nil }) {
		return []part{{Rule: rule}}
	}
	var total uint64
	for i := range backends {
		backends[i].Rewrite = combined(rule.Forward.Rewrite, backends[i].Rewrite)
		total += uint64(backends[i].Weight)
	}
	if samePath(backends) {
		return []part{{Rule: with(rule, backends[0].Rewrite.Path, backends)}}
	}
	var all []part
	var sum uint64
	for i := range backends {
		p := part{Rule: with(rule, backends[i].Rewrite.Path, backends[i:i+1])}
		if sum += uint64(backends[i].Weight); sum < total {
			p.fraction = &corev3.RuntimeFractionalPercent{DefaultValue: wire.Millionths(sum, total)}
		}
		all = append(all, p)
	}
	return all
}

// combined is what a request goes through: the rule's rewrite, then the backend's, which wins.
func combined(rule, backend *ir.Rewrite) *ir.Rewrite {
	var c ir.Rewrite
	for _, r := range []*ir.Rewrite{rule, backend} {
		if r == nil {
			continue
		}
		if r.Hostname != "" {
			c.Hostname = r.Hostname
		}
		if r.Host != nil {
			c.Host = r.Host
		}
		if r.Path != nil {
			c.Path = r.Path
		}
	}
	return &c
}

func samePath(backends []ir.WeightedBackend) bool {
	return !slices.ContainsFunc(backends, func(b ir.WeightedBackend) bool {
		return !reflect.DeepEqual(b.Rewrite.Path, backends[0].Rewrite.Path)
	})
}

// with is the rule with other backends, all of which have that path. Hostnames stay with the backends.
func with(rule *ir.Rule, path *ir.PathEdit, backends []ir.WeightedBackend) *ir.Rule {
	forward := *rule.Forward
	rewrite := &ir.Rewrite{Path: path}
	if rule.Forward.Rewrite != nil {
		rewrite.Host = rule.Forward.Rewrite.Host
	}
	forward.Rewrite, forward.Backends = rewrite, backends
	changed := *rule
	changed.Forward = &forward
	return &changed
}
