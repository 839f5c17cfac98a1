#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# At 5,000 Hz under a mixed load, for long: nothing is lost without being counted, the host stays well. What
# the sampling takes from the load is printed, for people to read. Time limit: 10 minutes with the
# defaults.
#
# XENFLAME_LAB_SECONDS   how long, for each Xen (30)
# shellcheck disable=SC2317 # functions that check calls
# shellcheck disable=SC2016 # shell for dom0
LAB_TEST=lab_frequency
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

LONG=${XENFLAME_LAB_SECONDS:-30}
LOADS=(hypercall evtchn pagetables timers exits@pvh pagetables@pv)

# System calls a second of a program in dom0 beside the loads, for so many seconds.
throughput() { # SECONDS
	lab_exec sh -c '
		now() { awk "{ printf \"%d\", \$1 * 100 }" /proc/uptime; }
		begin=$(now) n=0
		while [ $(($(now) - begin)) -lt '"$(($1 * 100))"' ]; do
			dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null
			n=$((n + 40000))
		done
		echo $((n * 100 / ($(now) - begin)))'
}

record_long() {
	LAB_TIMEOUT=$((LONG * 3 + 120)) record long "$LONG" -F 5000
}

# What each sort of sampling leaves of a program's system calls, for people to read.
measure_others() {
	local seconds=$((LONG / 3 < 20 ? LONG / 3 : 20)) frequency guests with pid
	for frequency in 99 999; do
		for guests in none all; do
			record other $((seconds + 10)) -F "$frequency" -g "$guests" &
			pid=$!
			sleep 5
			with=$(throughput "$seconds") || return 1
			wait "$pid" || return 1
			awk -v f="$frequency" -v g="$guests" -v a="$without" -v b="$with" 'BEGIN {
				printf "# at %d Hz, stacks of guests: %s: %d system calls a second (%.0f %%)\n", f, g, b, b * 100 / a }' >&3
		done
	done
}

measure() {
	local measured=$((LONG / 3)) with pid
	[ "$measured" -le 60 ] || measured=60
	without=$(throughput "$measured") || return 1
	record_long &
	pid=$!
	sleep 5
	with=$(throughput "$measured") || return 1
	wait "$pid" || return 1
	awk -v a="$without" -v b="$with" 'BEGIN {
		printf "# a program in dom0: %d system calls a second without sampling, %d with (%.0f %%)\n", a, b, b * 100 / a }' >&3
	grep 'pCPU [0-9]\|samples (' "$lab_tmp/long.err" | sed 's/^/# /' >&3
}

exec 3>&1
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --guests pvh,pv
	lab_put "$TOOL" /usr/local/bin/
	line=$(($(console_lines) + 1))
	check each-load-starts each_load start "${LOADS[@]}"
	check a-long-recording-at-5000-hz-works measure
	check nothing-is-lost-without-being-counted books_add_up long
	check recordings-at-99-and-999-hz-with-and-without-guests-stacks-work measure_others
	check each-load-runs-and-stops each_load stop "${LOADS[@]}"
	check nothing-is-left nothing_left
	check the-console-is-calm console_is_calm "$line"
	check the-host-is-well lab_exec judge --health
done
lab_done
