#!/usr/bin/env bash
# Starts two clusters beside each other, installs Gatewright in both and connects their networks, or stops them.
# Usage: hack/two-clusters.sh up|down
set -euo pipefail
cd "$(dirname "$0")/.."

readonly far=gatewright-far
at_far() { GATEWRIGHT_CLUSTER=$far GATEWRIGHT_SITE=2 make --no-print-directory "$@"; }

case ${1:-} in
up)
	make --no-print-directory cluster-up images
	make --no-print-directory install CHANNEL=experimental SET=clusterID=near
	at_far cluster-up images
	at_far install CHANNEL=experimental SET=clusterID=far
	bin/cluster connect "$far"
	;;
down)
	at_far cluster-down
	make --no-print-directory cluster-down
	;;
*)
	echo "usage: $0 up|down" >&2
	exit 2
	;;
esac
