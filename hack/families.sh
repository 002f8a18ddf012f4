#!/usr/bin/env bash
# Starts a cluster of both IP families, then one of IPv6 alone, and runs on each what concerns addresses.
# Usage: hack/families.sh [dual|ipv6 ...]; both by default.
set -euo pipefail
cd "$(dirname "$0")/.."
if (($# == 0)); then
	set -- dual ipv6
fi
# Tests about addresses: those of Gateways, of probes and metrics, of endpoints, of names outside the cluster, and of proxies with files.
readonly tests='^Test(Families|AStaticAddressOfAFamily|AddressRoutability|Hosts|XBackend.*|Files|SharedProxies)$$' # make reads $$ as $

trap 'make --no-print-directory cluster-down' EXIT
for family; do
	make --no-print-directory cluster-up FAMILY="$family"
	make --no-print-directory images
	make --no-print-directory install-everything
	make --no-print-directory e2e TESTFLAGS="-test.run=$tests"
	make --no-print-directory conformance FAMILY="$family"
	make --no-print-directory cluster-down
	if [[ -n ${RESULTS:-} ]]; then # those of the next family have the same names
		for file in "$RESULTS"/{e2e,conformance}.json; do
			mv "$file" "${file%.json}-$family.json"
		done
	fi
done
