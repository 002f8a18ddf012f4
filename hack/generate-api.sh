#!/usr/bin/env bash
# Writes what follows from the types in api/: deep copies, the CustomResourceDefinitions in the chart, and docs/api.md.
# The tools are those of tools/generate; go builds them once for each version.
set -euo pipefail
cd "$(dirname "$0")/.."

tool() { go tool -modfile=tools/generate/go.mod "$@"; }

# api is a module with older dependencies than ours. By this path its packages are read as Gatewright uses them, with the newer ones.
tool controller-gen object paths=github.com/gatewright/gatewright/api/... \
	crd:maxDescLen=512,allowDangerousTypes=true output:crd:dir=charts/gatewright/files/crds
# Kubernetes' own pattern for quantities lets through what its types cannot read, such as 1e1.5, and numbers without end.
readonly quantity='^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$'
sed -i.bak -E "s/^( *pattern: ).*KMGTPE.*\$/\\1$quantity/" \
	charts/gatewright/files/crds/*.yaml
rm charts/gatewright/files/crds/*.bak
tool crd-ref-docs --log-level=ERROR --source-path=api --config=hack/crd-ref-docs.yaml --renderer=markdown --output-path=docs/api.md
