#!/usr/bin/env bash
# Runs the fenced bash blocks of a page, word for word and in order, in one shell.
# Usage: hack/run-page.sh PAGE [SECTION]; with a section, the blocks below the heading "## SECTION" alone.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly page=$1 section=${2:-}

commands=$(awk -v section="$section" '/^## / {inside = ($0 == "## " section)} (inside || section == "") && /^```bash$/ {code = 1; next}
	/^```$/ {code = 0} code' "$page")
if [[ -z $commands ]]; then
	echo "$page has no commands ${section:+under \"## $section\"}" >&2
	exit 1
fi
bash -euo pipefail -c "$commands"
