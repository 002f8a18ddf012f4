#!/usr/bin/env bash
# Fails when a generated file comes out different. Files are generated in a copy, so that the checkout stays as it is: tests run on it
# afterwards, and a developer may be editing it.
set -euo pipefail
cd "$(dirname "$0")/.."

# Go compiles packages anew in each directory, so it is always the same one. One run at a time has it.
work=${GATEWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gatewright}/verify
mkdir -p "$work"
exec 9>"$work/lock"
if ! flock --nonblock 9; then
	echo "wait for another make verify, which uses $work" >&2
	flock 9
fi
clean() { rm -rf "$work"/{before,generated,difference,list}; }
clean
trap clean EXIT
mkdir "$work/before" "$work/generated"
tar --exclude=./.git --exclude=./bin --exclude=./dist -cf - . | tar -xf - -C "$work/before"
cp -a "$work/before/." "$work/generated"

failed=0
make --no-print-directory -C "$work/generated" generate || failed=1

cd "$work"
if ! diff -ruN before generated >difference; then
	head -n 200 difference
	{
		echo "these files are not as generated; run make generate and commit:"
		LC_ALL=C diff -rqN before generated | sed -n 's|^Files before/\(.*\) and generated/.* differ$|\1|p'
	} | tee list >&2
	if [[ -n ${RESULTS:-} ]]; then # for test/results, as hack/make-each.sh does it
		cp list "$RESULTS/verify.log"
		printf '1\tverify\n' >>"$RESULTS/failed"
	fi
	failed=1
fi
exit "$failed"
