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
export GATEWRIGHT_CLUSTER=gatewright-gate GATE_STAGE=$place.stage

fail() {
	printf '%s\n0 passed, 1 failed\n' "$1" >&2
	exit 1
}

# What the caller's make was told, and variables that change what a target does, are not for the stages.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL GATEWRIGHT_STATE GATEWRIGHT_SITE TESTFLAGS CASE SHORT SET CHANNEL FAMILY INFERENCE DELIVERY \
	PLACEMENT RERUN SETS SEED FIRST TREES EXPLORE SIMULATIONS
repository_variables=$(git rev-parse --local-env-vars) || fail "git is needed"
# shellcheck disable=SC2086 # a list of names
unset $repository_variables
[[ ! $PWD -ef $place ]] || fail "this is the clone that make gate makes: run it in your own checkout"

# The lock ends with the last stage.
exec 9>>"$place.lock"
if ! flock --nonblock 9; then
	echo "another gate runs on this machine; waiting for its end"
	flock 9
fi
# A stage is left if the run that started it was killed. The first process of its group is named with the time of its start.
if read -r group started 2>/dev/null <"$GATE_STAGE" && [[ $(cut -d' ' -f22 "/proc/$group/stat" 2>/dev/null) == "$started" ]]; then
	echo "end a stage that a killed run left"
	kill -KILL -- "-$group"
fi
git status --short | sed '1s/^/not committed, and so not part of this run:\n/'
rm -rf "$place"
git clone --quiet . "$place" || fail "this checkout cannot be cloned"
exec bash "$place/hack/gate-stages.sh" "$stages"
