#!/usr/bin/env bash
# The charts lint, render with their defaults and with each switch the other way, and their schemas refuse what they do not know.
# It goes on after a failure and lists all at the end. Usage: hack/check-chart.sh PATH_TO_HELM
set -uo pipefail
readonly helm=$1
cd "$(dirname "$0")/.." || exit
readonly chart=charts/gatewright

failures=()
fail() { failures+=("$1"); }

"$helm" lint --strict --quiet "$chart" || fail "helm lint fails, see above"
variants=(
	"replicas=2"
	"replicas=1,metrics.enabled=false,gatewayClass.create=false,crds.create=false"
	"clusterDomain=example.internal,priorityClassName=system-cluster-critical,image.tag=dev"
	"ipFamilies={IPv6,IPv4}"
	"clusterID=east"
	"watchNamespaces={shop,default}"
	"files.enabled=true"
	"externalHostnames.enabled=false"
	"externalHostnames.deniedAddresses={10.244.0.0/16,fd00::/8}"
	"networkPolicy.enabled=true,networkPolicy.proxyNamespaces.matchLabels.proxies=yes,networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus"
	"proxy.onlyInGatewrightNamespace=true,gatewayClass.proxyConfig.name=class"
	"podSecurityContext.runAsUser=null,securityContext.readOnlyRootFilesystem=false,resources=null"
	"controllerName=example.com/team,gatewayClass.name=team"
	"rateLimit.enabled=true,rateLimit.redis.address=redis:6379"
	"rateLimit.enabled=true,rateLimit.replicas=1,rateLimit.redis.address=redis:6379,rateLimit.redis.tls=true,rateLimit.redis.passwordSecret.name=redis,networkPolicy.enabled=true,metrics.enabled=false"
)
render() { "$helm" template gatewright "$chart" --namespace gatewright-system "$@"; }
for values in "${variants[@]}"; do
	reason=$(render --set "$values" 2>&1 >/dev/null) || fail "the chart does not render with --set $values: $reason"
done
for values in "replica=3" "replicas=0" "log.level=loud" "controllerName=team" "externalHostnames.deniedAddresses={pods}" \
	"ipFamilies={ipv6}" "proxy.onlyInGatewrightNamespace=true,files.enabled=true" "rateLimit.enabled=true" "rateLimit.redis.address=redis" \
	"rateLimit.enabled=true,rateLimit.redis.address=redis:6379,watchNamespaces={shop}"; do
	if render --set "$values" >/dev/null 2>&1; then
		fail "the chart accepts --set $values"
	fi
done

# show VARIABLE TEMPLATE VALUES sets the variable to one file of the chart, rendered.
show() {
	local text
	text=$(render --set "$3" --show-only "templates/$2") || fail "templates/$2 does not render with --set $3, see above"
	printf -v "$1" %s "$text"
}
deployment='' unlimited='' everywhere='' own=''

show deployment deployment.yaml 'podLabels.app\.kubernetes\.io/name=other,podLabels.team=edge'
grep -q 'team: edge' <<<"$deployment" || fail "podLabels are not on the pods"
! grep -q 'app.kubernetes.io/name: other' <<<"$deployment" || fail "podLabels replace or repeat a label of the chart"
grep -q 'GOMEMLIMIT' <<<"$deployment" || fail "there is a memory limit and no GOMEMLIMIT"
show unlimited deployment.yaml resources=null
! grep -q GOMEMLIMIT <<<"$unlimited" || fail "there is no memory limit, and GOMEMLIMIT follows from the node's memory"

# A right to create these in a namespace is a right to run as any of its ServiceAccounts.
show everywhere clusterrole.yaml proxy.onlyInGatewrightNamespace=true
kinds='serviceaccounts|deployments, daemonsets|configmaps|poddisruptionbudgets|horizontalpodautoscalers'
rights=$(grep -A1 -E "resources: \\[($kinds)\\]" <<<"$everywhere") ||
	fail "the cluster role names none of the kinds that proxies consist of"
! grep -q -E 'create|patch' <<<"$rights" ||
	fail "with proxy.onlyInGatewrightNamespace there are rights to create workloads in all namespaces: $rights"
show own role.yaml proxy.onlyInGatewrightNamespace=true
grep -q 'deployments, daemonsets' <<<"$own" || fail "no right to create workloads in the own namespace"
# Two installations share nothing that has no namespace, but for what Helm looks up.
names() {
	"$helm" template gatewright "$chart" --namespace "$1" --set "crds.create=false,$2" |
		awk '/^kind: (Cluster|GatewayClass)/ {kind = $2} /^  name: / && kind != "" {print kind, $2; kind = ""}' | sort
}
shared=$(comm -12 <(names gatewright-system replicas=2) <(names team-system controllerName=example.com/team,gatewayClass.name=team))
if [[ -n $shared || -z $(names gatewright-system replicas=2) ]]; then
	fail "two installations share: $shared"
fi

# The chart with the definitions. What becomes of those in a cluster is tested by make charts.
readonly definitions=charts/gatewright-crds
"$helm" lint --strict --quiet --set unchecked=true "$definitions" || fail "helm lint fails for $definitions, see above"
for channel in standard experimental none; do
	text=$("$helm" template gatewright-crds "$definitions" --set "unchecked=true,gatewayAPI.channel=$channel") ||
		fail "$definitions does not render with the channel $channel, see above"
	kinds=$(grep -c '"kind":"CustomResourceDefinition"' <<<"$text")
	kept=$(grep -c '"helm.sh/resource-policy":"keep"' <<<"$text")
	((kinds >= 7 && kept == kinds)) || fail "$kept of $kinds definitions of $definitions with the channel $channel are kept by Helm"
done
for values in "gatewayAPI.channel=stable" "gatewayApi.channel=none" "unchecked=yes"; do
	if "$helm" template gatewright-crds "$definitions" --set "unchecked=true,$values" >/dev/null 2>&1; then
		fail "$definitions accepts --set $values"
	fi
done

if ((${#failures[@]} > 0)); then
	printf '%s\n' "${failures[@]}" "chart: ${#failures[@]} failures" >&2
	exit 1
fi
echo "chart: ${#variants[@]} variants render, the schema refuses unknown and wrong values"
