#!/usr/bin/env bash
# The chart lints, renders with its defaults and with each switch the other way, and its schema refuses what it does not know.
# Usage: hack/check-chart.sh PATH_TO_HELM
set -euo pipefail
readonly helm=$1
cd "$(dirname "$0")/.."
readonly chart=charts/gatewright

"$helm" lint --strict --quiet "$chart"
variants=(
	"replicas=2"
	"replicas=1,metrics.enabled=false,gatewayClass.create=false,crds.create=false"
	"clusterDomain=example.internal,priorityClassName=system-cluster-critical,image.tag=dev"
	"watchNamespaces={shop,default}"
	"files.enabled=true"
)
for values in "${variants[@]}"; do
	"$helm" template gatewright "$chart" --namespace gatewright-system --set "$values" >/dev/null
done
for values in "replica=3" "replicas=0" "log.level=loud"; do
	if "$helm" template gatewright "$chart" --set "$values" >/dev/null 2>&1; then
		echo "the schema accepts --set $values" >&2
		exit 1
	fi
done
echo "chart: ${#variants[@]} variants render, the schema refuses unknown and wrong values"
