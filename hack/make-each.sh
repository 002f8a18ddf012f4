#!/usr/bin/env bash
# Makes each target, goes on after a failure, and ends with a list of all that failed.
# Usage: hack/make-each.sh TARGET...; with RESULTS, the output of each stays there, with a list of failures that test/results reads.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

if [[ -n ${RESULTS:-} ]]; then
	logs=$RESULTS
	mkdir -p "$logs"
else
	logs=$(mktemp -d)
	trap 'rm -rf "$logs"' EXIT
fi
trap 'exit 130' HUP INT TERM

failed=()
for target; do
	printf -- '--- make %s\n' "$target"
	status=0
	"${MAKE:-make}" --no-print-directory "$target" 2>&1 | tee "$logs/$target.log" || status=$?
	if ((status != 0)); then
		failed+=("$target")
		printf '%d\t%s\n' "$status" "$target" >>"$logs/failed"
	fi
done
((${#failed[@]} > 0)) || exit 0

{
	for target in "${failed[@]}"; do
		printf -- '--- make %s failed:\n' "$target"
		grep -vE '^(make(\[[0-9]+\])?: \*\*\*.*|\s*)$' "$logs/$target.log" | tail -n 12
	done
	printf -- '--- %d of %d failed: make %s\n' "${#failed[@]}" $# "${failed[*]}"
} >&2
exit 1
