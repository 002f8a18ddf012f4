package inherit

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
)

// Layer has the settings that policies at neighbouring levels have, for what is below these levels. Nil has none. It is never modified.
type Layer struct {
	// Request has the settings of requests, and Destination those of connections to backends; nil for none.
	Request     *ir.RequestPolicy
	Destination *ir.DestinationLayer
	// Origins tells where each setting is from.
	Origins []attach.Origin
	// Losses are the settings of policies at these levels that have no effect.
	Losses []attach.Loss
}

// Origin finds where a setting is from. It is false for a setting that nothing sets.
func (l *Layer) Origin(setting string) (attach.Origin, bool) {
	if l == nil {
		return attach.Origin{}, false
	}
	i := slices.IndexFunc(l.Origins, func(o attach.Origin) bool { return o.Setting == setting })
	if i < 0 {
		return attach.Origin{}, false
	}
	return l.Origins[i], true
}

// overrides says whether the layer decides about a setting for all that is below it.
func (l *Layer) overrides(setting string) bool {
	o, ok := l.Origin(setting)
	return ok && o.Overrides
}

// Locks says whether the layer overrides any setting of requests.
func (l *Layer) Locks() bool {
	return l != nil && l.Request != nil && slices.ContainsFunc(l.Origins, func(o attach.Origin) bool { return o.Overrides })
}

// Needs is what proxies need for the settings of requests.
func (l *Layer) Needs() *ir.Needs {
	if l == nil {
		return ir.NeedsOf()
	}
	return ir.NeedsOf(l.Request)
}

// Requests are the settings of requests of a rule below the layer: its own, and those of the layer that it does not have. Where a policy
// of the layer overrides one that is a field of the rule, the rule is rejected.
func (l *Layer) Requests(own *ir.RequestPolicy, rule attach.Target) (*ir.RequestPolicy, []attach.Rejection) {
	if l == nil || l.Request == nil {
		return own, nil
	}
	if own == nil {
		return l.Request, nil
	}
	merged := mergeFields(requestFields, l.Request, own, l.overrides)
	var rejections []attach.Rejection
	for _, f := range merged.clashes {
		origin, _ := l.Origin(f.setting)
		rejections = append(rejections, attach.Rejection{
			Inline: attach.Inline{Setting: f.setting, Object: rule, Path: f.inline}, Override: origin,
		})
	}
	return merged.value, rejections
}

// Below are the losses of a layer that is below this one.
func (l *Layer) Below(below *Layer) []attach.Loss {
	if l == nil || below == nil {
		return nil
	}
	var losses []attach.Loss
	for _, loser := range below.Origins {
		if winner, ok := l.Origin(loser.Setting); ok && winner.Overrides && winner.Object != loser.Object && !additive(loser.Setting) {
			losses = append(losses, attach.OverriddenBy(loser, winner))
		}
	}
	return losses
}

// Combine is one layer of those that policies of several kinds have at the same levels. They have no setting in common.
func Combine(layers ...*Layer) *Layer {
	var all *Layer
	for _, l := range layers {
		switch {
		case l == nil:
		case all == nil:
			all = l
		default:
			sum := Layer{
				Request: l.Request, Destination: all.Destination,
				Origins: slices.Concat(all.Origins, l.Origins), Losses: slices.Concat(all.Losses, l.Losses),
			}
			if sum.Destination == nil {
				sum.Destination = l.Destination
			}
			if all.Request != nil {
				sum.Request, _ = l.Requests(all.Request, attach.Target{})
			}
			all = &sum
		}
	}
	return all
}

// Destination are the settings of connections to a backend, of layers from the least to the most specific; nil for the defaults.
func Destination(layers ...*ir.DestinationLayer) *ir.DestinationSettings {
	var settings *ir.DestinationSettings
	var fixed []string
	for _, l := range layers {
		switch {
		case l == nil:
		case settings == nil:
			settings = &l.Settings
		default:
			settings = mergeFields(destinationFields, settings, &l.Settings, func(name string) bool { return slices.Contains(fixed, name) }).value
		}
		if l != nil {
			fixed = append(fixed, l.Overrides...)
		}
	}
	return settings
}
