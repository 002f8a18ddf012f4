#!/usr/bin/env bash
# Runs each fuzz test of the module for the given time, one after the other.
# Usage: hack/fuzz.sh 30s
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t found < <(grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9_]*' cmd internal 2>/dev/null |
	sed -E 's|/[^/]*_test.go:[0-9]+:func | |' | sort -u)
for test in "${found[@]}"; do
	read -r dir name <<<"$test"
	echo "$name in $dir"
	go test "./$dir" -run='^$' -fuzz="^$name\$" -fuzztime="$1" -fuzzminimizetime=1x
done
echo "${#found[@]} fuzz tests, no failure"
