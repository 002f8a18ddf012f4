#!/usr/bin/env bash
# Feeds generated objects through the control plane to a live Envoy, in a network namespace of its own, which needs root.
# Usage: hack/fuzz-envoy.sh PATH_TO_GOTESTSUM [GOTESTSUM_FLAG...]; TESTFLAGS holds flags for the test itself, see test/fuzz/fuzz_test.go.
set -euo pipefail
readonly gotestsum=$1
shift
cd "$(dirname "$0")/.."

# The definitions that objects have to pass, and those of an older release, which let more through.
module() { hack/retry.sh go mod download -json "sigs.k8s.io/gateway-api@$1" | sed -n 's/^\s*"Dir": "\(.*\)",\?$/\1/p'; }
hack/retry.sh go mod download -C test
GATEWAY_API=$(module "$(go list -C test -m -f '{{.Version}}' sigs.k8s.io/gateway-api)")
GATEWAY_API_OLD=$(module v1.4.1)
ENVOY=$(bin/cluster envoy | tail -n 1)
export GATEWAY_API GATEWAY_API_OLD ENVOY

cd test
# shellcheck disable=SC2086 # TESTFLAGS is a list of words
"$gotestsum" --format=standard-verbose "$@" -- -tags=fuzz -timeout=0 -count=1 ./fuzz ${TESTFLAGS:+-args $TESTFLAGS}
