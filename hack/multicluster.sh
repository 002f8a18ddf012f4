#!/usr/bin/env bash
# Runs the tutorial about two clusters and then test/multicluster on them.
# Usage: hack/multicluster.sh PATH_TO_GOTESTSUM [GOTESTSUM_FLAG...]; no cluster of these names may run. TESTFLAGS holds flags for the test.
set -euo pipefail
cd "$(dirname "$0")/.."

trap 'hack/two-clusters.sh down' EXIT
hack/run-page.sh docs/tutorials/two-clusters.md
NEAR_KUBECONFIG=$(bin/cluster kubeconfig) NEAR_NETWORK=gatewright
FAR_KUBECONFIG=$(GATEWRIGHT_CLUSTER=gatewright-far bin/cluster kubeconfig) FAR_NETWORK=gatewright-far
export NEAR_KUBECONFIG NEAR_NETWORK FAR_KUBECONFIG FAR_NETWORK
hack/cluster-test.sh "$1" multicluster 15m "${@:2}"
