#!/usr/bin/env bash
# Prints how busy and how full the machine is, fails when it has too little disk or memory for a run of CI, and waits until it is quiet.
# It needs only what every Debian has, so no ps and no awk, because it runs before anything is installed.
#
# The machine is quiet when its processors were idle for three quarters of five seconds (/proc/stat; time that the host took counts as
# busy). Load averages are a minute late and count processes that wait for a disk. Pressure is how long processes wait for a processor: it
# is near zero while one compiler has one of two processors, half of what a run would have. A machine that stays busy is no failure.
set -euo pipefail

readonly proc=${PREFLIGHT_PROC:-/proc}
readonly window=5 limit=${PREFLIGHT_WAIT:-120} quiet=25  # seconds, seconds, percent
readonly needed_memory=6              # GiB: a run takes up to 4, and the kernel should keep files in memory
# A cold run fills Go's build cache with 15 GB, and the module cache and ours with 5. After that, a run needs room for new builds of our own
# packages, the state of a cluster with its images, and logs. All of that is mostly on one file system.
readonly needed_cold=20 needed_warm=8 # GB
readonly needed_temporary=4           # GB: binaries of tests while they are linked, archives of images

cache=${GATEWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gatewright}
builds=${GOCACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/go-build}
temporary=${TMPDIR:-/tmp}
readonly cache builds temporary

short=()

tenths() { printf '%d.%d' $(($1 / 10)) $(($1 % 10)); }

# ticks prints the time of all processors together, then how much of it they were busy.
ticks() {
	local -a t
	read -ra t <"$proc/stat"
	local all=0 field
	for field in "${t[@]:1:8}"; do all=$((all + field)); done
	echo "$all $((all - t[4] - t[5]))"
}

# each_process prints the ticks, the pages of memory and the id of each process.
each_process() {
	local path line
	local -a f # /proc/PID/stat after the name, which may have blanks
	for path in "$proc"/[0-9]*/stat; do
		{ read -r line <"$path"; } 2>/dev/null || continue # it has ended
		read -ra f <<<"${line##*) }"
		echo "$((f[11] + f[12])) ${f[21]} ${line%% *}"
	done
}

command_of() {
	local text
	text=$(tr '\0' ' ' 2>/dev/null <"$proc/$1/cmdline") || true
	printf '%.100s' "${text:-$(cat "$proc/$1/comm" 2>/dev/null || true)}"
}

# measure waits for a window. It sets busy to the percentage of all processors, and busiest to lines with the five busiest processes.
measure() {
	local all busy_ticks all_after busy_after pid spent passed
	local -A before=()
	read -r all busy_ticks < <(ticks)
	while read -r spent _ pid; do before[$pid]=$spent; done < <(each_process)
	sleep "$window"
	read -r all_after busy_after < <(ticks)
	passed=$((all_after - all))
	((passed > 0)) || passed=1
	busy=$(((busy_after - busy_ticks) * 100 / passed))
	busiest=$(
		while read -r spent _ pid; do
			echo "$(((spent - ${before[$pid]:-0}) * 100 * processors / passed)) $pid"
		done < <(each_process) | sort -rn | head -n 5 |
			while read -r spent pid; do ((spent == 0)) || printf '%6d%%  %s %s\n' "$spent" "$pid" "$(command_of "$pid")"; done
	)
}

check_memory() {
	local kib name
	while read -r name kib _; do [[ $name != MemAvailable: ]] || break; done <"$proc/meminfo"
	echo "memory: $(tenths $((kib * 10 / 1024 / 1024))) GiB available, $needed_memory needed"
	if ((kib < needed_memory * 1024 * 1024)); then
		short+=("memory: $(tenths $((kib * 10 / 1024 / 1024))) GiB are available, and $needed_memory are needed: end other processes")
		echo "the largest processes, in MiB:"
		each_process | sort -k2,2nr | head -n 5 |
			while read -r _ pages pid; do printf '%7d  %s %s\n' $((pages / 256)) "$pid" "$(command_of "$pid")"; done
	fi
}

# check_disk WHAT DIRECTORY GB
check_disk() {
	local dir=$2 mb
	while [[ ! -d $dir ]]; do dir=$(dirname "$dir"); done
	mb=$(($(df -Pk "$dir" | tail -n 1 | tr -s ' ' | cut -d' ' -f4) * 1024 / 1000000))
	echo "disk: $(tenths $((mb / 100))) GB free for $1 ($2), $3 needed"
	if ((mb < $3 * 1000)); then
		short+=("disk: $(tenths $((mb / 100))) GB are free for $1 ($2), and $3 are needed: remove files there, or choose another place")
	fi
}

# needed_disk prints how much a run needs. The size of the build cache is estimated by 4 of its 256 directories, which takes no time.
needed_disk() {
	local kib=0 size needed=$needed_cold
	while read -r size _; do kib=$((kib + size)); done < <(du -sk "$builds"/{00,40,80,c0} 2>/dev/null)
	if compgen -G "$cache/kubernetes-*/inputs" >/dev/null; then
		needed=$((needed_cold - kib * 64 * 1024 / 1000000000))
		((needed > needed_warm)) || needed=$needed_warm
	fi
	echo "$needed"
}

wait_for_quiet() {
	local waited
	for ((waited = window; waited <= limit; waited += window)); do
		if ((busy < quiet)); then
			((waited == window)) || echo "the machine is quiet after $((waited - window)) s: its processors are $busy% busy"
			return
		fi
		((waited > window)) || echo "wait up to $limit s until the processors are less than $quiet% busy"
		((waited == limit)) || measure
	done
	printf '%s\n' "the processors are still $busy% busy after $limit s, by these processes:" "$busiest" \
		"Going on: what tests measure may take longer than on a quiet machine."
}

processors=$(grep -c '^cpu[0-9]' "$proc/stat")
read -r one five fifteen _ <"$proc/loadavg"
echo "load: $one $five $fifteen, $processors processors"
if [[ -r $proc/pressure/cpu ]]; then
	read -r pressure <"$proc/pressure/cpu" || true
	echo "pressure of processors: $pressure"
fi
left=$(compgen -G '/run/*/cluster-state' || true)
[[ -z $left ]] || echo "clusters: $(for file in $left; do basename "$(dirname "$file")"; done | tr '\n' ' ')"
check_memory
needed=$(needed_disk)
check_disk "Go's build cache" "$builds" "$needed"
check_disk "the cache" "$cache" "$needed_temporary"
check_disk "temporary files" "$temporary" "$needed_temporary"
measure
printf '%s\n' "processors: $busy% busy, by these processes (in % of one processor):" "${busiest:-none}"
if ((${#short[@]} > 0)); then
	printf 'this machine is too small or too full: %s\n' "${short[@]}" >&2
	exit 1
fi
wait_for_quiet
