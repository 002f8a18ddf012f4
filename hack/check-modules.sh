#!/usr/bin/env bash
# Fails when a go.mod or go.sum of the repository is not tidy.
set -euo pipefail
cd "$(dirname "$0")/.."

untidy=()
while read -r mod; do
	(cd "$(dirname "$mod")" && go mod tidy -diff) || untidy+=("$(dirname "$mod")")
done < <(find . -name go.mod -not -path './.git/*' | sort)
if ((${#untidy[@]} > 0)); then
	echo "these modules are not tidy; run go mod tidy in each and commit: ${untidy[*]}" >&2
	exit 1
fi
