#!/usr/bin/env bash
# Every package has a doc.go, and no Go file that a person wrote is longer than 600 lines.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly limit=600
failed=0
complain() { echo "$1" >&2; failed=1; }

mapfile -t files < <(find . -name '*.go' -not -path './.git/*' -not -path '*/testdata/*' | sort)

for dir in $(printf '%s\n' "${files[@]}" | xargs -n1 dirname | sort -u); do
	[[ -f $dir/doc.go ]] || complain "$dir: has no doc.go that says what the package knows, where to enter and what it must not know"
done

for file in "${files[@]}"; do
	lines=$(wc -l <"$file")
	if ((lines > limit)) && ! grep -q '^// Code generated .* DO NOT EDIT\.$' "$file"; then
		complain "$file: $lines lines, more than $limit: split it by concept"
	fi
done

exit "$failed"
