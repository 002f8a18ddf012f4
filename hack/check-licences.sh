#!/usr/bin/env bash
# Fails when a program that is released, or the module api, has a dependency with a licence that is not allowed, or with none. Dependencies
# of tests and tools are not checked: no release contains them.
# Usage: hack/check-licences.sh PATH_TO_GO_LICENSES
set -uo pipefail
readonly tool=$1
cd "$(dirname "$0")/.." || exit

# All of them allow what Apache-2.0 allows, and ask for no more than a notice. Another one is added in a commit that says why.
readonly allowed=Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT

# It takes packages for those of the standard library only if they are below this directory.
GOROOT=$(go env GOROOT) || exit
export GOROOT

failures=()
# check OS ARCHITECTURE DIRECTORY PACKAGES... prints what is wrong; of the warnings about assembly, nothing.
check() {
	local os=$1 arch=$2 dir=$3 output
	shift 3
	if ! output=$(cd "$dir" && GOOS=$os GOARCH=$arch "$tool" check "$@" --allowed_licenses="$allowed" 2>&1); then
		grep -vE '^(W[0-9]|/)' <<<"$output" | sort -u >&2
		failures+=("$os/$arch in $dir: $*")
	fi
}

for arch in amd64 arm64; do
	check linux "$arch" . ./cmd/...
	check darwin "$arch" . ./cmd/gwr
done
check linux amd64 api ./...

if ((${#failures[@]} > 0)); then
	printf 'licences are not as they must be (allowed: %s) for:\n' "$allowed" >&2
	printf '  %s\n' "${failures[@]}" >&2
	exit 1
fi
echo "all licences are among $allowed"
