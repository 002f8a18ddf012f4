#!/usr/bin/env bash
# Looks for known vulnerabilities in every module of the repository. It fails for those that code of ours, of a program or of a test, can
# call. Modules with nothing but the versions of tools, and of what test clusters run, have no code of ours: what is known about the
# packages in them is printed, and does not fail.
# Usage: hack/check-vulnerabilities.sh PATH_TO_GOVULNCHECK [DATABASE]; without a database it asks https://vuln.go.dev.
set -uo pipefail
readonly tool=$1 database=${2:-}
cd "$(dirname "$0")/.." || exit

# The tests that need a cluster or an Envoy are behind these tags.
readonly tags=fuzz,translation,charts,conformance,inference,e2e,fault,bench,multicluster

options=()
[[ -z $database ]] || options=("-db=$database")

failed=() known=()
while read -r mod; do
	dir=$(dirname "$mod")
	if [[ -n $(cd "$dir" && go list ./... 2>/dev/null) ]]; then
		printf -- '--- %s\n' "$dir"
		"$tool" -C "$dir" "${options[@]}" "-tags=$tags" -test ./... || failed+=("$dir")
	else
		printf -- '--- %s (tools)\n' "$dir"
		status=0
		"$tool" -C "$dir" "${options[@]}" -scan=package tool || status=$?
		case $status in
		0) ;;
		3) known+=("$dir") ;; # vulnerabilities were found
		*) failed+=("$dir") ;;
		esac
	fi
done < <(find . -name go.mod -not -path './.git/*' -not -path '*/testdata/*' | sort)

if ((${#known[@]} > 0)); then
	echo "vulnerabilities in packages of tools, see above: ${known[*]}" >&2
fi
if ((${#failed[@]} > 0)); then
	echo "vulnerabilities, or scans that failed, see above: ${failed[*]}" >&2
	exit 1
fi
