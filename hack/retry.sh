#!/usr/bin/env bash
# Runs a command that needs the network, up to three times: what fails once mostly works a little later.
# Usage: hack/retry.sh COMMAND [ARGUMENT...]; RETRY_WAIT is the first wait in seconds, 5 by default. The second is three times as long.
set -uo pipefail
wait=${RETRY_WAIT:-5}

for attempt in 1 2 3; do
	"$@" && exit 0
	status=$?
	if ((attempt == 3 || status > 128)); then break; fi # above 128: a signal ended it
	echo "attempt $attempt of 3 failed (exit code $status), the next one begins in $wait s: $*" >&2
	sleep "$wait"
	wait=$((wait * 3))
done
echo "failed after $attempt attempts: $*" >&2
exit "$status"
