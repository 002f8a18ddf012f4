#!/usr/bin/env bash
# Prints what helps to understand a failure on the cluster: objects, events, the logs of the controller, the proxies and the daemons.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
readonly lines=${1:-80}

inside() { bin/cluster exec -- "$@" 2>&1; }
title() { printf '\n--- %s\n' "$1"; }

title "pods"
inside kubectl get pods --all-namespaces --output wide
title "events (warnings)"
inside kubectl get events --all-namespaces --field-selector type=Warning --sort-by .lastTimestamp | tail -n "$lines"
title "gateways and routes"
inside kubectl get gatewayclasses,gateways,httproutes,grpcroutes --all-namespaces --output wide
title "controller"
inside kubectl --namespace gatewright-system describe deployment gatewright
readonly controllers=app.kubernetes.io/name=gatewright,app.kubernetes.io/component=controller
inside kubectl --namespace gatewright-system logs --selector "$controllers" --prefix --tail "$lines"
title "controller before its last restart"
inside kubectl --namespace gatewright-system logs --selector "$controllers" --prefix --previous --tail "$lines"
title "proxies"
while read -r namespace pod; do
	[[ -n $pod ]] && inside kubectl --namespace "$namespace" logs "$pod" --prefix --tail "$lines"
done < <(inside kubectl get pods --all-namespaces --selector gateway.networking.k8s.io/gateway-name --no-headers \
	--output custom-columns=N:.metadata.namespace,P:.metadata.name)

state=${GATEWRIGHT_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/${GATEWRIGHT_CLUSTER:-gatewright}}/cluster
for log in "$state"/logs/*.log; do
	[[ -e $log ]] || continue
	title "$(basename "$log" .log)"
	tail -n "$lines" "$log"
done
