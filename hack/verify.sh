#!/usr/bin/env bash
# Fails when a module is not tidy, and when a generated file comes out different.
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

sums() { find . -type f -not -path './.git/*' -not -path './bin/*' -print0 | sort -z | xargs -0 sha256sum; }

before=$(sums)
make --no-print-directory generate
if ! difference=$(diff <(echo "$before") <(sums)); then
	echo "these files are not as generated; run make generate and commit:" >&2
	sed -n 's/^[<>] [0-9a-f]*  //p' <<<"$difference" | sort -u >&2
	exit 1
fi
