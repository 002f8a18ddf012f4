#!/usr/bin/env bash
# Runs everything in its long form, by stage, and writes docs/nightly.md. A stage that has passed for this commit is not run again, and
# neither is a fault case or a part of the simulation that has passed for one since which only documentation changed: a run that was stopped
# goes on where it was.
# Logs and results stay in the cache.
# Usage: hack/nightly.sh [STAGE...]; all of them by default. With CASE, as make fault has it, only these fault cases run.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly known=(faults simulation mutations fuzz explain families multicluster bench scale)
if (($# == 0)); then
	set -- "${known[@]}"
fi
for name; do
	[[ " ${known[*]} " == *" $name "* ]] || {
		echo "there is no stage $name; there are: ${known[*]}" >&2
		exit 2
	}
done

commit=$(git describe --always --abbrev=12 --exclude='*')
# What stages write is not a change of what they run.
[[ -z $(git status --short -- . ':!docs/nightly.md' ':!docs/scale') ]] || commit+=-dirty
runs=${GATEWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gatewright}/nightly/$commit
readonly commit runs

# What makes a stage shorter, or another one, is not what the report is about: neither what the caller's make was told, nor variables.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL SHORT TESTFLAGS RERUN FAMILY DELIVERY PLACEMENT EXPLORE SIMULATIONS SEED FIRST SETS TREES \
	GUARDS FUZZTIME EXPLAINED ROUTES GATEWAYS CLASS BENCHFLAGS

# cases_passed STAGE lists the tests that need not run again, by what the report says of them.
cases_passed() {
	local name result at unchanged=" " changed=" "
	[[ $commit != *-dirty ]] || return 0
	while IFS='|' read -r _ name result at _; do
		read -r name <<<"$name"
		read -r at <<<"$at"
		[[ $result == " passed"* && $changed != *" $at "* ]] || continue
		if [[ $unchanged != *" $at "* ]]; then
			git diff --quiet "$at" HEAD -- . ':!docs' ':!*.md' 2>/dev/null || { changed+="$at "; continue; }
			unchanged+="$at "
		fi
		echo "$name"
	done < <(sed -n "/^## $1\$/,/^## /s/^| [A-Z]/&/p" docs/nightly.md)
}

# run_faults runs the fault cases that have not passed.
run_faults() {
	local passed="" left
	[[ -n ${CASE:-} ]] || passed=$(cases_passed faults | paste -sd'|')
	if [[ -n $passed ]]; then
		echo "not run again: ${passed//|/ }"
		left=$(sed -n 's/^func Test\([A-Za-z0-9]*\)(t .*/\1/p' test/fault/*_test.go | grep -cvxE "$passed") || true
		((left > 0)) || return 0
		export TESTFLAGS="-test.skip=^Test($passed)\b"
	fi
	on_cluster make --no-print-directory fault RERUN=1
}

# run_simulation runs the parts of the simulation that have not passed. Its short tests run each time.
run_simulation() {
	local name skip=""
	for name in $(cases_passed simulation); do skip+="|^Test${name/\//$\/^}$"; done
	if [[ -n $skip ]]; then
		echo "not run again: $skip"
		export TESTFLAGS="-test.skip=${skip#|}"
	fi
	make --no-print-directory simulate
}

# run_mutations runs both kinds, whatever becomes of the first.
run_mutations() {
	local status=0
	make --no-print-directory simulate-mutations || status=$?
	make --no-print-directory guard-mutations || status=$?
	return "$status"
}

# on_cluster COMMAND... runs a command with a cluster that has everything installed.
on_cluster() (
	export GATEWRIGHT_CLUSTER=gatewright-nightly
	unset GATEWRIGHT_STATE
	trap 'make --no-print-directory cluster-down' EXIT
	make --no-print-directory cluster-up images install-everything && "$@"
)

run() {
	case $1 in
	faults) run_faults ;;
	simulation) run_simulation ;;
	mutations) run_mutations ;;
	fuzz) make --no-print-directory fuzz SETS=10000 TREES=4000 ;;
	explain) make --no-print-directory explain ;;
	families) GATEWRIGHT_CLUSTER=gatewright-nightly make --no-print-directory families ;;
	multicluster) make --no-print-directory multicluster ;;
	bench) on_cluster make --no-print-directory bench FIGURES="$RESULTS/bench.figures" ;;
	scale) make --no-print-directory scale ;;
	esac
}

# report STAGE writes what the results of a stage say into docs/nightly.md, once.
report() {
	local status=0
	GOTOOLCHAIN=go1.27.3 go run -C test ./results -nightly="$PWD/docs/nightly.md" -commit="$commit" "$runs/$1" || status=$?
	touch "$runs/$1/reported"
	return "$status"
}

# ended STATUS SECONDS STAGE writes down how a stage ended.
ended() {
	local command="make nightly STAGES=$3"
	[[ $3 != faults || -z ${CASE:-} ]] || command+=" CASE='$CASE'"
	printf '.\t%d\t%d\t%s\t%s\n' "$1" "$2" "$3" "$command" >"$runs/$3/stages"
}

# What is interrupted is reported, too.
interrupted=false
trap 'interrupted=true' HUP INT TERM
failed=()
for name; do
	RESULTS=$runs/$name
	export RESULTS
	some=false
	[[ $name != faults || -z ${CASE:-} ]] || some=true
	if [[ -e $RESULTS/passed && $commit != *-dirty && $some == false ]]; then
		echo "$name has passed for $commit"
		continue
	fi
	if [[ -e $RESULTS/log && ! -e $RESULTS/reported ]]; then
		echo "$name was killed: report what had ended"
		ended 137 0 "$name"
		report "$name" || true
	fi
	rm -rf "$RESULTS"
	mkdir -p "$RESULTS"
	printf '\n===== %s\n' "$name"
	began=$SECONDS
	status=0
	run "$name" 2>&1 | tee -i "$RESULTS/log" || status=$?
	ended "$status" $((SECONDS - began)) "$name"
	if report "$name"; then
		[[ $some == true ]] || touch "$RESULTS/passed"
	else
		failed+=("$name")
	fi
	[[ $interrupted == false ]] || break
done
if ((${#failed[@]} > 0)); then
	echo "failed: ${failed[*]}" >&2
	exit 1
fi
