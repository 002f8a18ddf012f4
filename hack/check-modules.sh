#!/usr/bin/env bash
# Fails when a go.mod or go.sum of the repository is not tidy, or is in no directory of .github/dependabot.yml.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly root=$PWD

# tidy_diff prints the difference. It fails without one only when go itself fails, such as for a download, which is worth another attempt.
tidy_diff() {
	local difference status=0
	difference=$(go mod tidy -diff) || status=$?
	if [[ -n $difference ]]; then
		printf '%s\n' "$difference"
		return 0
	fi
	return "$status"
}
export -f tidy_diff

# The directories in dependabot.yml are the lines with a path and nothing else; some have a * for one name.
mapfile -t watched < <(sed -nE 's|^ +- "/([^"]*)"$|\1|p' .github/dependabot.yml)

# is_watched DIRECTORY, as find prints it.
is_watched() {
	local dir=${1#.} pattern
	dir=${dir#/}
	for pattern in "${watched[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $dir == $pattern && ${dir//[^\/]/} == "${pattern//[^\/]/}" ]] && return
	done
	return 1
}

untidy=() broken=() unwatched=()
while read -r mod; do
	dir=$(dirname "$mod")
	[[ $dir == */testdata/* ]] || is_watched "$dir" || unwatched+=("$dir")
	if ! difference=$(cd "$dir" && "$root/hack/retry.sh" bash -c tidy_diff); then
		broken+=("$dir")
	elif [[ -n $difference ]]; then
		printf '%s:\n%s\n' "$dir" "$difference"
		untidy+=("$dir")
	fi
done < <(find . -name go.mod -not -path './.git/*' | sort)
if ((${#broken[@]} > 0)); then
	echo "go mod tidy fails in these modules, see above: ${broken[*]}" >&2
fi
if ((${#untidy[@]} > 0)); then
	echo "these modules are not tidy; run go mod tidy in each and commit: ${untidy[*]}" >&2
fi
if ((${#unwatched[@]} > 0)); then
	echo "these modules are not in .github/dependabot.yml: ${unwatched[*]}" >&2
fi
((${#broken[@]} + ${#untidy[@]} + ${#unwatched[@]} == 0))
