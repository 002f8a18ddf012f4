#!/usr/bin/env bash
# Breaks the control plane in one place at a time, in a copy of the tree, and expects the simulation to find each of these bugs.
# Usage: hack/simulate-mutations.sh [SEEDS] [NAME…]
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-2000}
shift || true

tried="$seeds seeds"
source hack/mutate.sh
copy_tree go.mod go.sum api internal test/go.mod test/go.sum test/simulation

run_test() {
	(cd "$copy/test" && go test ./simulation -run TestSeeds -seeds="$seeds" -failures=1)
}

violation() {
	local output
	output=$(cat)
	grep -m1 -oE 'seed [0-9]+: \([a-g]\).*' <<<"$output" || tail -n 3 <<<"$output"
}

wanted=("$@")
mutate lost-hosts 'proxies without an anchor are not sent scopes behind the listener' \
	internal/xds/anchor.go 's/if s\.anchored \|\|/if true || s.anchored ||/'
mutate cold-clusters 'routes are sent before their clusters are acknowledged' \
	internal/xds/update_cycle.go \
	's/if !s\.sendPending\(Cluster\) \|\| !s\.answered\(Cluster\)/if !s.sendPending(Cluster)/; s/= s\.keepBack\(.*\)\n/= s.cycle.pending[t]\n/'
mutate early-removal 'clusters are removed before what uses them' \
	internal/xds/update_cycle.go \
	's/removalOrder = \[\]Type\{RouteTable, Scope, Secret, Cluster\}/removalOrder = []Type{Cluster, Secret, Scope, RouteTable}/'
mutate one-proxy 'an object is live when one proxy has it' \
	internal/convergence/tracker.go 's/all := g\.last\n/all := -1\n/; s/all = min\(all,/all = max(all,/'
mutate stale-leader 'a writer goes on with its queue after the lease is lost' \
	internal/leaderqueue/queue.go 's/q\.work\(ctx, queue, reconcile\)/q.work(context.WithoutCancel(ctx), queue, reconcile)/'
mutate one-group 'every proxy is given the resources of one Gateway' \
	internal/xds/server.go 's/s\.cache\.connect\(proxy, identity\.Group\)/s.cache.connect(proxy, GroupID{Namespace: "w", Name: "one"})/'
mutate forgotten-removals 'what a proxy lists when it reconnects is ignored' \
	internal/xds/subscription.go 's/\tmaps\.Copy\(s\.sent, request\.GetInitialResourceVersions\(\)\)\n//'
mutate unacknowledged 'a state counts as held before everything is acknowledged' \
	internal/xds/state.go 's/if !s\.answered\(t\) \{\n\t\t\treturn false/if t == Cluster \&\& !s.answered(t) {\n\t\t\treturn false/'

summary
