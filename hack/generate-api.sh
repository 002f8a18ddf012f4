#!/usr/bin/env bash
# Writes what follows from the types in api/: deep copies, the CustomResourceDefinitions in the chart, and docs/api.md.
# The tools come from the environment (make generate sets it), or are built by go.
set -euo pipefail
cd "$(dirname "$0")/.."

tool() { go tool -modfile=tools/generate/go.mod "$@"; }

tool controller-gen object paths=./api/... \
	crd:maxDescLen=512 output:crd:dir=charts/gatewright/files/crds
