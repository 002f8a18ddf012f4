#!/usr/bin/env bash
# Downloads the modules that each go.mod of the repository requires, so that what comes later does not depend on the network.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly root=$PWD

failed=()
while read -r mod; do
	dir=$(dirname "$mod")
	(cd "$dir" && "$root/hack/retry.sh" go mod download) || failed+=("$dir")
done < <(find . -name go.mod -not -path './.git/*' -not -path '*/testdata/*' | sort)
if ((${#failed[@]} > 0)); then
	echo "the modules of these directories cannot be downloaded: ${failed[*]}" >&2
	exit 1
fi
