#!/usr/bin/env bash
# Runs everything that must hold before a change lands (hack/gate-stages.sh), on a fresh clone of HEAD: what is ignored or not committed is
# not there. The clone's path is always the same, so caches by path help. It has a test cluster of its own name, and leaves others alone
# unless CI=true. When all stages pass, an empty file in the cache is named by the hash of the tree.
# Usage: hack/gate.sh [fast]; fast stops before the cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly stages=${1:-all}
case $stages in
all | fast) ;;
*)
	echo "usage: hack/gate.sh [fast]" >&2
	exit 2
	;;
esac

place=${TMPDIR:-/tmp}/gatewright-gate
readonly place
export GATEWRIGHT_CLUSTER=gatewright-gate

# The lock ends with the last stage.
exec 9>"$place.lock"
if ! flock --nonblock 9; then
	echo "another gate runs on this machine; waiting for its end"
	flock 9
fi
git status --short | sed '1s/^/not committed, and so not part of this run:\n/'
rm -rf "$place"
git clone --quiet . "$place"
exec bash "$place/hack/gate-stages.sh" "$stages"
