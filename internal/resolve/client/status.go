package client

import (
	"slices"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/store"
)

// Status is what became of the policy of that key. effective is the table of [Inputs.Effective].
func (in Inputs) Status(v *store.View, effective *store.Table[Effective], gateways inherit.Gateways, key string) outcome.Policy {
	p, ok := in.Policies.Get(v, key)
	if !ok {
		return outcome.Policy{}
	}
	var reaches []attach.Reach
	for _, t := range p.Targets {
		names, missing := gateways.Of(v, t)
		if missing != nil {
			reaches = append(reaches, *missing)
		}
		for _, name := range names {
			e, _ := effective.Get(v, name)
			for _, r := range e.reaches {
				if slices.Contains(r.chain, t) {
					reaches = append(reaches, attach.Reach{Gateway: name, Target: t, Subject: r.chain[len(r.chain)-1], Losses: r.losses})
				}
			}
		}
	}
	return Kind.Status(&p, reaches)
}
