#!/usr/bin/env bash
# Compare the time until a new route is served, at HEAD, with that at another commit, in one run: hack/bench-against.sh COMMIT [routes]
#
# Both are measured by the same test, in turn (here, there, there, here), so that what changes on the machine meanwhile affects both.
set -euo pipefail
cd "$(dirname "$0")/.."

commit=${1:?which commit}
routes=${2:-10000}
figures=$(mktemp -d)
here=$figures/here there=$figures/there
git worktree add --quiet --detach "$here" HEAD
git worktree add --quiet --detach "$there" "$commit"
trap 'git worktree remove --force "$here"; git worktree remove --force "$there"; rm -rf "$figures"' EXIT

measure() { # name, directory, turn
	make -C "$2" images install CHANNEL=experimental SET=files.enabled=true
	local flags="-class=gatewright -out=$figures/$1-$3.json -version=$1 -routes=$routes -samples=150 -edits=60"
	make bench FIGURES="$figures/$1-$3.json" TESTFLAGS="-test.run=TestScale $flags"
}
measure here "$here" 1
measure there "$there" 1
measure there "$there" 2
measure here "$here" 2

python3 - "$figures" "$commit" <<'PY'
import json, statistics, sys
def times(name, what):
    found = []
    for turn in (1, 2):
        with open(f"{sys.argv[1]}/{name}-{turn}.json") as f:
            found.append(json.load(f)["points"][-1][what]["times"])
    return found
def cut(sample, share):
    return sorted(sample)[min(len(sample) - 1, int(len(sample) * share))]
for what in ("idle", "loaded"):
    here, there = times("here", what), times("there", what)
    for name, all in (("here", here), (sys.argv[2], there)):
        for sample in all:
            p50, p99 = statistics.median(sample), cut(sample, .99)
            print(f"{what:7} {name:10} p50 {p50:6.1f} ms  p99 {p99:7.1f} ms  slowest {max(sample):7.1f} ms")
    print(f"{what:7} ratio of p50: {statistics.median(sum(here, [])) / statistics.median(sum(there, [])):.2f}")
PY
