#!/usr/bin/env bash
# Runs the stages of the gate in this checkout, from a clean Debian machine with git, Go (1.21 or later) and root; hack/gate.sh prepares it.
# Ends with a table of times, what failed and why, and on the last line the sum of all tests (test/results). So it does when it is
# interrupted: it ends the stage that runs, with all its processes, and stops the cluster.
# Usage: hack/gate-stages.sh all|fast; fast stops before the cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly wanted=$1

# What each stage prints and reports stays here, by commit; the last ten are kept.
kept=${GATEWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gatewright}/results
results=$kept/$(git describe --always --abbrev=40 --exclude='*' --dirty 2>/dev/null || echo unknown)
# An empty file here is named by the hash of a tree for which all stages passed.
passed=$(dirname "$kept")/gate
clean=false
[[ -n $(git status --short) ]] || clean=true
readonly kept results passed clean
rm -rf "$results"
mkdir -p "$results"
find "$kept" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' | sort -rn | tail -n +11 | cut -d' ' -f2- | xargs -r -d '\n' rm -rf --

stages=0
failed=0
current=() # directory, name, command and start of the stage that runs
touched_cluster=false

# stage NAME COMMAND... runs one stage and records how it ended.
stage() {
	local name=$1 dir status=0
	shift
	stages=$((stages + 1))
	dir=$(printf '%02d-%s' "$stages" "${name//[^a-z0-9]/-}")
	mkdir "$results/$dir"
	printf '\n===== %s\n' "$name"
	current=("$dir" "$name" "$(again "$*")" "$SECONDS")
	set -m # a job of its own is a process group of its own
	run_stage "$results/$dir" "$@" </dev/null 9>&- & # the lock of hack/gate.sh is not for what a stage starts
	set +m
	[[ -z ${GATE_STAGE:-} ]] || echo "$! $(cut -d' ' -f22 "/proc/$!/stat")" >"$GATE_STAGE"
	await $! || status=$?
	record "$status"
	if ((status != 0)); then failed=$((failed + 1)); fi
	return "$status"
}

# run_stage DIRECTORY COMMAND... keeps what a stage prints. A signal does not end tee: it ends when all that write to it have.
run_stage() {
	local dir=$1
	shift
	RESULTS=$dir "$@" 2>&1 | (trap '' HUP INT TERM && exec tee "$dir/log") || exit
}

# await PROCESS waits until it ends. A signal that is handled ends wait, but not the process.
await() {
	local status=0
	wait "$1" || status=$?
	while ((status > 128)) && kill -0 "$1" 2>/dev/null; do
		status=0
		wait "$1" || status=$?
	done
	return "$status"
}

# stop_stage ends all processes of the stage that runs.
stop_stage() {
	local group _
	group=$(jobs -p) # the id of a process group is that of its first process
	[[ -n $group ]] || return
	echo "interrupted: stop the stage \"${current[1]}\""
	kill -TERM -- "-$group"
	for _ in {1..100}; do
		kill -0 -- "-$group" 2>/dev/null || return
		sleep 0.2
	done
	kill -KILL -- "-$group"
}

# again COMMAND prints what runs a stage again. Functions of this script cannot be called from outside.
again() {
	if [[ $(type -t "$1") == function ]]; then echo "make gate"; else echo "${1//--no-print-directory /}"; fi
}

# record STATUS writes down how the current stage ended.
record() {
	printf '%s\t%d\t%d\t%s\t%s\n' "${current[0]}" "$1" $((SECONDS - current[3])) "${current[1]}" "${current[2]}" >>"$results/stages"
	current=()
}

# must NAME COMMAND... runs a stage without which the next ones make no sense.
must() { stage "$@" || exit 1; }

# check NAME COMMAND... runs a stage whose failure leaves others worth running: all of them are reported.
check() { stage "$@" || true; }

finish() {
	local status=$? interrupted=false
	trap - EXIT
	trap 'echo "it is about to end, and stops what it started"' HUP INT TERM
	set +e
	if ((${#current[@]} > 0)); then
		interrupted=true
		stop_stage
		record "$status"
	fi
	if [[ $touched_cluster == true ]]; then
		[[ $status != 0 && $interrupted == false ]] && timeout 300 hack/diagnose.sh
		stage "cluster down" make --no-print-directory cluster-down
	fi
	if [[ -x $results/report ]]; then
		"$results/report" "$results" || [[ $status != 0 ]] || status=1
	else
		cat "$results/stages"
		echo "0 passed, 1 failed"
	fi
	((status == 0 && failed > 0)) && status=1
	if [[ $status == 0 && $wanted == all && $clean == true ]]; then
		mkdir -p "$passed" && : >"$passed/$(git rev-parse 'HEAD^{tree}')"
	fi
	exit "$status"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

install_packages() {
	local missing=() command
	for command in make gcc curl awk diff; do
		command -v "$command" >/dev/null || missing+=("$command")
	done
	((${#missing[@]} == 0)) && return
	hack/retry.sh apt-get update -qq -o DPkg::Lock::Timeout=300 &&
		DEBIAN_FRONTEND=noninteractive hack/retry.sh apt-get install -qq --yes -o DPkg::Lock::Timeout=300 make gcc libc6-dev curl gawk diffutils
}

build_report() {
	command -v go >/dev/null || { echo "go is not on PATH: install Go 1.21 or later" >&2; return 1; }
	GOTOOLCHAIN=go1.27.3 hack/retry.sh go version && GOTOOLCHAIN=go1.27.3 go build -C test -buildvcs=false -o "$results/report" ./results
}

# It starts from nothing. A cluster with the name of the gate was left behind by a killed run. In CI there is no other user: a cluster of
# any name was left behind, with whatever happened in it.
no_clusters() {
	local all=
	[[ ${CI:-} != true ]] || all=1
	hack/retry.sh make --no-print-directory cluster-down ALL=$all
}

must "packages" install_packages
must "tools of this script" build_report
[[ $wanted == fast ]] || must "no cluster runs" no_clusters
must "preflight" hack/preflight.sh
must "downloads" make --no-print-directory download
check "style, imports, chart" make --no-print-directory lint
check "import rules bite" make --no-print-directory lint-selftest
check "generated files, modules" make --no-print-directory verify
check "unit and property tests" make --no-print-directory test
check "simulation" make --no-print-directory simulate SIMULATIONS=2000 EXPLORE=5000
((failed == 0)) || exit 1
[[ $wanted == all ]] || exit 0

# An API server of its own, before the cluster needs the machine.
check "definitions by Helm" make --no-print-directory charts
touched_cluster=true
must "cluster up" make --no-print-directory cluster-up
must "images, install" make --no-print-directory images install
must "quickstart" make --no-print-directory quickstart
# Some features are only in the experimental channel; the quickstart has shown the standard one.
must "install everything" make --no-print-directory install-everything
check "conformance" make --no-print-directory conformance
# 1,500 generated sets of objects, the same ones each time.
check "live Envoys" make --no-print-directory translation fuzz-short
check "end to end" make --no-print-directory e2e RERUN=1
check "faults" make --no-print-directory fault-functional RERUN=1
# It comes last, so that every other stage has shown a cluster without the definitions of the Inference Extension.
must "install inference" make --no-print-directory install-everything INFERENCE=1
check "conformance of inference pools" make --no-print-directory conformance-inference
check "tutorial of a model" make --no-print-directory tutorial-model
((failed == 0)) || exit 1
