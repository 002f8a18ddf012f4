#!/usr/bin/env bash
# Runs the fenced bash blocks of the README's quickstart, word for word and in order.
set -euo pipefail
cd "$(dirname "$0")/.."

commands=$(awk '/^## / {inside = ($0 == "## Quickstart")} inside && /^```bash$/ {code = 1; next} /^```$/ {code = 0} inside && code' README.md)
if [[ -z $commands ]]; then
	echo "the README has no commands under \"## Quickstart\"" >&2
	exit 1
fi
bash -euo pipefail -c "$commands"
