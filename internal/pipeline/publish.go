package pipeline

import "github.com/gatewright/gatewright/internal/memo"

// publish hands out what a step of the configuration lane has changed. What it calls relies on the order of these calls: resources of
// proxies, the states that they make, the fleets that run them, and then what objects report.
func (p *Pipeline) publish(b batch, report memo.Report) {
	q := p.quarantine
	g, to := q.graph, q.to

	// The last good versions are those that are live before proxies and Proofs know of their successors, which are not live yet.
	q.remember()

	// Proxies are first: nothing may be reported that they can not have got, and a fleet that is new finds its configuration.
	changes, flaws := g.resourceChanges()
	states := to.Proxies.Apply(changes)

	// The new states are known before any outcome is set. An outcome belongs to the state that was reached last: before this call, proxies
	// that hold the state before it would prove it.
	to.Proofs.Reach(states, b.since)

	// Failures are noted before the quarantine publishes, which reports them too.
	p.tell(flaws)
	q.failures.update(report)
	q.failures.replace(changes, flaws)

	// Fleets are behind the states, and before outcomes: Proofs learn from them whose proxies have to prove the outcomes of a Gateway, and
	// for a Gateway that moves to other proxies these have to have the state that they were just given.
	g.publishFleets(to.Fleets)

	// Endpoints that are chosen by labels are wished for before routes report on them. No other call relies on it.
	g.publishSelectors(to.Selectors)

	// Outcomes are set when it is known which proxies have to hold which state.
	g.publishStatuses(to.Statuses)

	// What is refused is said of the outcomes that have just been set: a new outcome takes back what was said of the one before.
	q.publish(changes)
}
