#!/usr/bin/env bash
# Takes away one protection of guards at a time, in a copy of the tree, and expects TestNoRequestLosesItsGuard to find each of these bugs.
# Usage: hack/guard-mutations.sh [SETS] [NAME…]
set -euo pipefail
cd "$(dirname "$0")/.."
sets=${1:-1000}
shift || true

tried="$sets sets"
source hack/mutate.sh
copy_tree go.mod go.sum api internal

run_test() {
	(cd "$copy" && go test -vet=off ./internal/pipeline -run '^TestNoRequestLosesItsGuard$' -timeout=1h -guards="$sets" -guards-stop)
}

violation() { grep -m1 -oE 'set [0-9]+ of seed [0-9]+, .*'; }

wanted=("$@")
# What is found without a mutation would be taken for each of them.
if ((${#wanted[@]} == 0)) && ! output=$(run_test 2>&1); then
	echo "the test fails without a mutation: $output" >&2
	exit 1
fi
mutate route-beyond-budget 'a route that a host has no room for is left out' \
	internal/resolve/route/host_budget.go 's/if !closed\(t\) \|\| !out \{/if !closed(t) \&\& !out {/'
mutate second-filter 'the second filter of a type takes the place of the first' \
	internal/resolve/route/action.go 's/(checkRepeated\(filters, ""\); message) != ""/$1 == "-"/'
mutate unserved-listener 'a listener that is not served leaves its hostname to a wider one' \
	internal/resolve/gateway/gateway.go 's/\t\tr\.closeListeners\(\)\n//'
mutate panic-host 'a host whose stage panics is not there' \
	internal/pipeline/route_stages.go 's/return ir\.ClosedHost\(ir\.ParseHostID\(key\)\)/return last/'
mutate panic-route 'a route whose stage panics at the start is not there' \
	internal/resolve/route/broken.go 's/if last\.Name\.Name == "" \|\| !in\./if last.Name.Name != "" \&\& !in./'
mutate unreadable-route 'a route that cannot be read is not there' \
	internal/resolve/route/http.go 's/return in\.unreadable\(.*\)/return Resolved{}/'
mutate unreadable-policy 'a policy that cannot be read is not there' \
	internal/resolve/security/resolve.go 's/(if reason := store\.Unreadable\(object\); reason != "" \{\n)/$1\t\treturn Policy{}\n/'
mutate earlier-version 'what proxies reject is replaced by an earlier version without its guard' \
	internal/resolve/route/instead.go 's/r\.SameRules\(refused\) \|\| !r\.guardsLike\(refused\)/r.SameRules(refused)/'
mutate earlier-filters 'filters of a listener that proxies reject are replaced by those that it had at first' \
	internal/pipeline/quarantine.go 's/(\/\/ listenersServed)/type asked struct {\n\tg *graph\n\tid ir.ListenerID\n}\n
		var first = map[asked][]ir.ListenerFilter{}\n\n$1/; s/(if entry, ok := g\.substitutes\.Filters)/at := asked{g, ir.ListenerID{
			Gateway: table.Gateway, Listener: l.ID}}\n\t\tif first[at] == nil {\n\t\t\tfirst[at] = l.Filters\n\t\t}\n\t\t$1/;
		s/entry\.Apply\(l\.Filters\)/first[at]/; s/entry, ok := g\.sub/_, ok := g.sub/'
mutate old-password 'after a panic, an earlier version of a route is served that takes a password which is revoked' \
	internal/ir/replicas.go 's/sum, value, withSecrets/sum, value, json.DefaultOptionsV1()/'
mutate broken-setting 'a setting of a policy whose Secret is missing counts as turned off' \
	internal/resolve/security/resolve.go 's/return ir\.Broken\n\t\}\n\treturn ir\.Enforced/return ir.Off\n\t}\n\treturn ir.Enforced/'
mutate unreadable-match 'a guarded rule with a match that cannot be read leaves its requests to a wider rule' \
	internal/resolve/route/action.go 's/if !guarded \{/if !guarded || problem != "" {/'
mutate unreadable-limits 'a rate limit that cannot be read is not there' \
	internal/resolve/traffic/kind.go 's/p\.Spec\.RateLimit = unknown\.broken\(p\.Spec\.RateLimit\)//'
mutate unknown-authorities 'a listener whose authorities are missing accepts all clients' \
	internal/resolve/client/effective.go 's/policy\.FailClosed = policy\.FailClosed \|\| !ok/_ = ok/'

summary
