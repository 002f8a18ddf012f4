package pipeline

import (
	"slices"

	"github.com/gatewright/gatewright/internal/memo"
)

// publish hands out what a step of the configuration lane has changed. What it calls relies on the order of these calls: resources of
// proxies, the states that they make, the fleets that run them, and then what objects report.
func (p *Pipeline) publish(b batch, report memo.Report) {
	g, to := p.graph, p.to

	// The last good versions are those that are live before proxies and Convergence learn of their successors, which are not live yet.
	p.quarantine.Remember()

	// Owners are before resources: a Gateway that was made again under its name has the group of the one before, whose proxies get nothing
	// of it. They may have changed in one step.
	gateways := g.publishOwners(to.Proxies)

	// Proxies are first: nothing may be reported that they cannot have got, and a fleet that is new finds its configuration.
	changes, invalid := g.resourceChanges()
	// The rate limit service is before them: it lets pass what it knows no limit of.
	limits := g.publishRateLimits(to.RateLimits)
	states := to.Proxies.Apply(slices.Concat(changes, g.apartChanges()))
	p.quarantine.Introduce(changes, states)
	if limits != "" {
		states = withRateLimits(states, limits)
	}

	// The new states are known before any outcome is set. An outcome belongs to the state that was reached last: before this call, proxies
	// that hold the state before it would prove it.
	to.Convergence.Reach(states, b.since)

	// Failures are recorded before notices, which report them too.
	p.logValidationErrors(invalid)
	p.failures.update(report)
	p.failures.replace(changes, invalid)

	// Fleets are behind the states, and before outcomes: Convergence learns from them whose proxies have to prove the outcomes of a
	// Gateway, and for a Gateway that moves to other proxies these have to have the state that they were just given.
	g.publishFleets(to.Fleets, gateways)

	// Endpoints that are chosen by labels are requested before routes report on them. No other call relies on it.
	g.publishSelectors(to.Selectors)

	// Outcomes are set when it is known which proxies have to hold which state.
	g.publishStatuses(to.Statuses)

	// What is refused is said of the outcomes that have just been set: a new outcome takes back what was said of the one before.
	p.publishNotices(changes)
	to.Convergence.Reported(b.nacked)
}
