#!/usr/bin/env bash
# Fails when a generated file comes out different. Files are generated in a copy, so that the checkout stays as it is: tests run on it
# afterwards, and a developer may be editing it.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/before" "$work/generated"
tar --exclude=./.git --exclude=./bin -cf - . | tar -xf - -C "$work/before"
cp -a "$work/before/." "$work/generated"

failed=0
# Without -trimpath, Go compiles everything anew in each directory.
GOFLAGS="${GOFLAGS:-} -trimpath" make --no-print-directory -C "$work/generated" generate || failed=1

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
