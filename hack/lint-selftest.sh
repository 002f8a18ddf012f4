#!/usr/bin/env bash
# Proves that the import rules bite: copies the tree, adds imports that the rules forbid, and expects the linter to name each of them.
# Usage: hack/lint-selftest.sh PATH_TO_GOLANGCI_LINT
set -euo pipefail
linter=$(realpath "$1")
readonly linter
cd "$(dirname "$0")/.."

readonly module=github.com/gatewright/gatewright
# directory, forbidden import
readonly cases=(
	"internal/ir            k8s.io/api/core/v1"
	"internal/outcome       sigs.k8s.io/gateway-api/apis/v1"
	"internal/store         sigs.k8s.io/controller-runtime/pkg/client"
	"internal/memo          $module/internal/ir"
	"internal/resolve/refs  net/http"
	"internal/resolve/route $module/internal/xds"
	"internal/translate/route $module/internal/store"
	"internal/explain       $module/internal/translate/filter"
	"internal/endpoints     $module/internal/resolve/refs"
	"internal/xds           $module/internal/ir"
	"internal/status        $module/internal/ir"
	"internal/xds/bisect    $module/internal/ir"
	"internal/convergence   $module/internal/outcome"
	"internal/programmed    $module/internal/status"
	"internal/peers         $module/internal/pipeline"
	"internal/pipeline      sigs.k8s.io/controller-runtime/pkg/client"
)

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r .golangci.yml go.mod go.sum api internal "$copy"

packages=()
for case in "${cases[@]}"; do
	read -r dir import <<<"$case"
	if [[ ! -d $copy/$dir ]]; then
		echo "$dir does not exist: the list of cases in $0 is out of date" >&2
		exit 1
	fi
	package=$(sed -n 's/^package //p' "$copy/$dir/doc.go")
	printf 'package %s\n\nimport _ "%s"\n' "$package" "$import" >"$copy/$dir/forbidden_import.go"
	packages+=("./$dir")
done

report=$(cd "$copy" && "$linter" run --enable-only=depguard "${packages[@]}" 2>&1) && {
	echo "the linter accepted imports that the rules forbid" >&2
	exit 1
}

failed=0
for case in "${cases[@]}"; do
	read -r dir import <<<"$case"
	if grep -F "$dir/forbidden_import.go" <<<"$report" | grep -qF "import '$import' is not allowed"; then
		echo "refused: $dir importing $import"
	else
		echo "not refused: $dir importing $import" >&2
		failed=1
	fi
done
((failed == 0)) || echo "$report" >&2
exit "$failed"
