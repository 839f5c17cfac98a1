#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# NMIs that are not the agent's, while it sends its own: Xen handles as many as came, whatever it is told
# to do with them (nmi=), none of the agent's reaches it, and its crash works. Time limit: 15 minutes.
#
# XENFLAME_LAB_NMIS      how many to inject in a recording (40)
# shellcheck disable=SC2317 # functions that check calls
LAB_TEST=lab_nmi
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

NMIS=${XENFLAME_LAB_NMIS:-40}

start_host() { # WORD...: of Xen's command line
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --xen-args "$*"
	local words="$*"
	LAB_PREFIX="$xen-${words// /-}-"
	lab_put "$TOOL" /usr/local/bin/
}

# "CPU COUNT" of all NMIs that Xen has handled.
xens_nmis() {
	debug_key n 'NMI (neither|pending|masked)' | awk '/^\(XEN\) +[0-9]+[ \t]+[0-9]+$/ { print $2, $3 }'
}

# The same of those that Xen handed on to dom0's kernel, on all its vCPUs.
dom0s_nmis() {
	lab_exec awk '/NMI:/ { n = 0; for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i; print n }' /proc/interrupts
}

# "CPU COUNT" of the NMIs that the agent took in the recording NAME: what it sent, without what was lost.
agents_nmis() {
	sed -n 's/^xenflame: pCPU \([0-9]*\): produced \([0-9]*\),.* \([0-9]*\) NMIs,.*/\1 \2 \3/p' "$lab_tmp/$1.err" |
		awk '{ print $1, $2 - $3 }'
}

# Per pCPU, how many NMIs reached Xen: BEFORE and AFTER are files of xens_nmis.
left_for_xen() { # BEFORE AFTER NAME
	agents_nmis "$3" >"$lab_tmp/agents"
	awk 'FILENAME ~ /before/ { before[$1] = $2; next } FILENAME ~ /agents/ { ours[$1] = $2; next }
		{ print $1, $2 - before[$1] - ours[$1] }' "$1" "$lab_tmp/agents" "$2"
}

# MEANWHILE is done before Xen's NMIs are counted again.
record_counting() { # NAME FREQUENCY SECONDS MEANWHILE...
	local pid
	xens_nmis >"$lab_tmp/before"
	each_load start hypercall evtchn || return 1
	"${@:4}" &
	pid=$!
	record "$1" "$3" -F "$2" || return 1
	each_load stop hypercall evtchn
	wait "$pid" || return 1
	xens_nmis >"$lab_tmp/after"
	left_for_xen "$lab_tmp/before" "$lab_tmp/after" "$1" >"$lab_tmp/left"
	paste -sd ';' "$lab_tmp/left" | sed 's/^/# left for Xen (pCPU, NMIs): /' >&3
}

inject() { # COUNT
	local i
	for i in $(seq "$1"); do
		sleep 0.2
		"$LAB" nmi "$LAB_DIR" >/dev/null || return
	done
}

# Some may come together with one of ours and be one NMI with it: never more than came, and most.
injected_ones_reach_xen() {
	local reached
	record_counting injected 1000 $((NMIS / 4 + 2)) inject "$NMIS" || return 1
	reached=$(awk '{ n += $2 } END { print n }' "$lab_tmp/left")
	between $((NMIS / 2)) "$reached" "$NMIS"
}

none_of_ours_reaches_xen() {
	record_counting alone 5000 10 true || return 1
	awk -v most="$1" '$2 < 0 || $2 > most { print; bad = 1 } END { exit bad || !NR }' "$lab_tmp/left"
}

# dom0's kernel may be told once of two that come while it does not run.
dom0_hears_of_what_xen_got() { # BEFORE
	local heard reached
	heard=$(($(dom0s_nmis) - $1))
	reached=$(awk '{ n += $2 } END { print n }' "$lab_tmp/left")
	echo "# dom0 heard of $heard of $reached" >&3
	between $((reached / 2)) "$heard" "$reached"
}

# One may come together with one of ours, and be one NMI with it.
inject_until_it_ends() {
	local attempt
	for attempt in $(seq 100); do
		kill -0 "$(cat "$LAB_DIR/qemu.pid")" 2>/dev/null || return 0
		[ $((attempt % 10)) != 1 ] || grep -q 'Panic on CPU' "$LAB_DIR/console.log" ||
			"$LAB" nmi "$LAB_DIR" >/dev/null || true
		sleep 0.5
	done
	echo "the host did not reboot"
	return 1
}

# Xen's crash while we sample: its message and one dump, then the reboot, with no fault on the way.
crashes_cleanly() {
	local line recorder
	line=$(($(console_lines) + 1))
	lab_exec xenflame record -F 2000 -t 60 -o /tmp/crash.data >"$lab_tmp/crash.err" 2>&1 &
	recorder=$!
	for _ in $(seq 200); do
		! grep -q 'finished APPLY with rc=0' <(tail -n "+$line" "$LAB_DIR/console.log") || break
		sleep 0.1
	done
	sleep 2
	inject_until_it_ends || return 1
	wait "$recorder" || true
	tail -n "+$line" "$LAB_DIR/console.log" | tr -d '\r' >"$lab_tmp/crash"
	[ "$(grep -c 'Panic on CPU' "$lab_tmp/crash")" = 1 ] && grep -q 'Reboot in five seconds' "$lab_tmp/crash" &&
		! grep -E 'FATAL PAGE FAULT|GENERAL PROTECTION|DOUBLE FAULT|Assertion' "$lab_tmp/crash" || {
		tail -n 60 "$lab_tmp/crash"
		return 1
	}
}

exec 3>&1
for xen in $LAB_XENS; do
	start_host nmi=ignore
	check as-many-foreign-nmis-reach-xen-as-came injected_ones_reach_xen
	check nothing-is-left nothing_left

	start_host nmi=dom0
	heard=$(dom0s_nmis)
	check as-many-foreign-nmis-reach-xen-as-came injected_ones_reach_xen
	check those-reach-dom0 dom0_hears_of_what_xen_got "$heard"

	start_host nmi=fatal
	check none-of-ours-reaches-xen none_of_ours_reaches_xen 0
	check xen-crashes-cleanly-by-a-foreign-nmi crashes_cleanly

	# The emulator has no counter, so Xen's watchdog looks due for ever: it gets two NMIs a pCPU and no more.
	start_host nmi=fatal watchdog
	check xens-watchdog-is-not-fed none_of_ours_reaches_xen 2
	check xens-watchdog-is-calm console_is_calm 1
	check nothing-is-left nothing_left
	LAB_PREFIX=''
done
lab_done
