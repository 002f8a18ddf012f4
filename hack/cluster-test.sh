#!/usr/bin/env bash
# Runs the tests of one package of test/ inside the network of the running cluster.
# The binary is built outside, because nothing can be downloaded from within.
# Usage: hack/cluster-test.sh PATH_TO_GOTESTSUM PACKAGE TIMEOUT [GOTESTSUM_FLAG...]; TESTFLAGS holds flags for the test itself.
set -euo pipefail
readonly gotestsum=$1 package=$2 timeout=$3
shift 3
cd "$(dirname "$0")/.."
cluster=$PWD/bin/cluster # built by make
readonly cluster

binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT
hack/retry.sh go mod download -C test
go test -C test -c -tags="$package" -o "$binaries/$package.test" "./$package"

# Tests that install other versions of the Gateway API find them here, by version: GATEWAY_API_V1_4_1 is a directory.
for version in "$(go list -C test -m -f '{{.Version}}' sigs.k8s.io/gateway-api)" v1.4.1; do
	directory=$(hack/retry.sh go mod download -json "sigs.k8s.io/gateway-api@$version" | sed -n 's/^\s*"Dir": "\(.*\)",\?$/\1/p')
	name=${version^^}
	export "GATEWAY_API_${name//./_}=$directory"
done

cd "test/$package"
# shellcheck disable=SC2086 # TESTFLAGS is a list of words
"$gotestsum" --format=testname "$@" --raw-command -- \
	go tool test2json -t -p "github.com/gatewright/gatewright/test/$package" \
	"$cluster" exec -- "$binaries/$package.test" -test.v=test2json -test.timeout="$timeout" ${TESTFLAGS:-}
