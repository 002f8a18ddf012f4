#!/usr/bin/env bash
# Fails when a generated file comes out different.
set -euo pipefail
cd "$(dirname "$0")/.."

sums() { find . -type f -not -path './.git/*' -not -path './bin/*' -print0 | sort -z | xargs -0 sha256sum; }

before=$(sums)
make --no-print-directory generate
if ! difference=$(diff <(echo "$before") <(sums)); then
	echo "these files are not as generated; run make generate and commit:" >&2
	sed -n 's/^[<>] [0-9a-f]*  //p' <<<"$difference" | sort -u >&2
	exit 1
fi
