#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `xenflame top` on each Xen: its figures add up, what runs is what it shows, it follows a recording that
# somebody else makes, and however it ends nothing is left behind. Time limit: 15 minutes.
LAB_TEST=lab_top
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

shown=$lab_tmp/shown

# top NAME OPTION...: what it prints, in $shown.
top() {
	lab_exec xenflame top -b "$@" >"$shown" 2>"$lab_tmp/said" || {
		echo "status $?"
		cat "$shown" "$lab_tmp/said"
		return 1
	}
}

pictures() { # COUNT
	local nr
	nr=$(grep -c '^Top ' "$shown")
	[ "$nr" = "$1" ] || { echo "$nr pictures, not $1"; cat "$shown"; return 1; }
}

# A pCPU that has samples has shares that make 100 %, to the two digits that are shown.
pcpus_add_up() {
	awk '/  pCPU$/ { inside = 1; next }
	     /  Domain$/ { inside = 0 }
	     inside { sum = 0
	              for (i = 1; i <= 5; i++) sum += $i
	              if ($6 > 0 && (sum < 99.9 || sum > 100.1)) { print "sum " sum ": " $0; bad = 1 }
	              lines += $6 > 0 }
	     END { if (!lines) print "no lines"; exit bad || !lines }' "$shown" || { cat "$shown"; return 1; }
}

# Each picture has both pCPUs, and all of them together have as many samples as the head says.
samples_add_up() {
	awk '/^Samples / { gsub(",", ""); said = $2 }
	     /  all$/ { gsub(",", ""); all = $6; sum = 0; pcpus = 0 }
	     /  pCPU [0-9]+$/ { gsub(",", ""); sum += $6; pcpus++ }
	     /  Domain$/ { if (sum != all || all != said || pcpus != 2) {
	                   print said ", " all ", " sum " on " pcpus " pCPUs"; bad = 1 } }
	     END { exit bad }' "$shown" || { cat "$shown"; return 1; }
}

# Samples at the asked for frequency, within what the emulator's clock and its load do to it.
frequency_is_kept() { # HZ
	awk -v hz="$1" '/^Samples / { gsub(",", ""); n += $2; time += $4 }
		END { rate = n / time / 2; print rate " a second and pCPU"
		      exit !(rate > hz / 3 && rate < hz * 2) }' "$shown" || { cat "$shown"; return 1; }
}

# Of the functions that head the list (self) one matches, in at least one picture.
hot_function() { # REGEX FIRST
	awk -v regex="$1" -v first="$2" '
		/  Function$/ { line = 0; inside = 1; next }
		/^$/ { inside = 0 }
		inside && ++line <= first { name = $4; sub(/.*#/, "", name); if (name ~ "^(" regex ")$") found = 1 }
		END { exit !found }' "$shown" || { cat "$shown"; return 1; }
}

# Of the processes that head the list one is it, in at least one picture.
hot_process() { # NAME FIRST
	awk -v wanted="$1" -v first="$2" '
		/  Process$/ { line = 0; inside = 1; next }
		/  Function$/ { inside = 0 }
		inside && ++line <= first && $6 == wanted && $7 ~ /^\([0-9]+\)$/ { found = 1 }
		END { exit !found }' "$shown" || { cat "$shown"; return 1; }
}

# Processes have the samples of dom0 and no others, all of them where all are listed.
processes_are_dom0s() {
	awk '/  Domain-0$/ { gsub(",", ""); dom0 = $5 }
	     /  Process$/ { inside = 1; sum = 0; next }
	     /  Function$/ { if (sum != dom0) { print sum ", not " dom0; bad = 1 }; inside = 0; seen = 1 }
	     inside { gsub(",", ""); sum += $5 }
	     END { if (!seen) print "no pictures"; exit bad || !seen }' "$shown" || { cat "$shown"; return 1; }
}

# Of all samples of dom0 the process is not known of so many at most, in per cent: the emulator's clock is not steady.
processes_are_known() { # PERCENT
	awk -v most="$1" '/  Domain-0$/ { gsub(",", ""); dom0 += $5 }
		/^Quality / { for (i = 1; i < NF; i++) if ($i == "process" && $(i + 1) == "unknown") unknown += $(i + 2) }
		END { print unknown + 0 " of " dom0; exit !(dom0 && unknown * 100 <= dom0 * most) }' "$shown" ||
		{ cat "$shown"; return 1; }
}

# A function is listed, in the last picture.
in_last_picture() { # REGEX
	awk -v regex="$1" '/^Top / { found = 0 } /  Function$/ { inside = 1; next } /^$/ { inside = 0 }
		inside && $4 ~ "^(" regex ")$" { found = 1 }
		END { exit !found }' "$shown" || { cat "$shown"; return 1; }
}

own_cost_is_told() {
	grep -qE '^Own cost   [0-9]+ samples/s, agent [0-9.]+%, [0-9.]+ KiB/s, [0-9.]+% of a CPU in dom0$' "$shown" ||
		{ cat "$shown"; return 1; }
}

no_file_is_left() {
	lab_exec sh -c '[ -z "$(find /tmp /root -newer /tmp/mark ! -path /tmp -type f 2>/dev/null)" ] || {
		find /tmp /root -newer /tmp/mark -type f; exit 1; }'
}

# No process of ours is there any more.
nobody_runs() {
	lab_exec sh -c 'for exe in /proc/[0-9]*/exe; do
			[ "$(readlink "$exe")" != /usr/local/bin/xenflame ] || { echo "$exe"; exit 1; }
		done'
}

# The view gets SIGNAL while it shows; what it said, and its status. It runs in the foreground: a shell's
# background jobs ignore SIGINT.
signalled() { # SIGNAL
	lab_exec sh -c "
		touch /tmp/mark
		rm -f /run/shown
		(for i in \$(seq 90); do ! grep -q '^Top ' /run/shown || break; sleep 1; done
		kill -$1 \$(cat /run/pid)) 2>/dev/null &
		sh -c 'echo \$\$ >/run/pid; exec xenflame top -b' >/run/shown 2>/run/said; status=\$?
		cat /run/said
		grep -q '^Top ' /run/shown || echo 'nothing was shown'
		exit \$status"
}

# By a signal that can be caught it ends as if all were well, with nothing to say.
ended_by() { # SIGNAL
	signalled "$1" >"$lab_tmp/said" && [ ! -s "$lab_tmp/said" ] && return 0
	cat "$lab_tmp/said"
	return 1
}

# Killed outright, nobody can say goodbye: its recorder does.
killed() {
	signalled KILL >"$lab_tmp/said" || [ $? = 137 ]
}

gone_within_a_while() {
	local look
	for ((look = 0; look < 20; look++)); do
		nobody_runs >/dev/null && return 0
		sleep 1
	done
	nobody_runs
}

# A view that stands still for longer than the agent's patience goes on afterwards: its recorder did.
stands_still() {
	lab_exec sh -c '
		rm -f /run/shown
		(for i in $(seq 90); do ! grep -q "^Top " /run/shown || break; sleep 1; done
		kill -STOP $(cat /run/pid); sleep 6; kill -CONT $(cat /run/pid)) 2>/dev/null &
		sh -c "echo \$\$ >/run/pid; exec xenflame top -b -n 4" >/run/shown; status=$?
		cat /run/shown
		exit $status' >"$shown" 2>"$lab_tmp/said" || { cat "$shown" "$lab_tmp/said"; return 1; }
}

# On a terminal, which dom0's image knows nothing about: a picture comes, and q ends it.
typed() {
	local look
	rm -f "$lab_tmp/typist"
	mkfifo "$lab_tmp/typist"
	exec 8<>"$lab_tmp/typist"
	lab_exec mkdir -p /run/terminfo/x
	lab_put /lib/terminfo/x/xterm /run/terminfo/x/
	printf 'TERMINFO=/run/terminfo TERM=xterm xenflame top\n' >&8
	timeout 120 script -qefc "'$LAB' shell '$LAB_DIR'" /dev/null <&8 >"$lab_tmp/typed" 2>&1 &
	for ((look = 0; look < 90; look++)); do
		! grep -q 'Physical CPUs' "$lab_tmp/typed" || break
		sleep 1
	done
	printf q >&8
	sleep 2
	printf '\necho status $?\nexit\n' >&8
	wait $!
	exec 8>&-
	grep -q 'Physical CPUs' "$lab_tmp/typed" && tr '\r' '\n' <"$lab_tmp/typed" | grep -q '^status 0' && return 0
	cat -v "$lab_tmp/typed" | tail -n 40
	return 1
}

# Its memory, and its recorder's, after a while and after three times that, at a frequency at which a
# second's samples are many.
memory_of_both() { # the larger of the two, KiB
	lab_exec sh -c 'for pid in $(pidof xenflame); do awk "/^VmRSS/ { print \$2 }" /proc/$pid/status; done |
		sort -n | tail -n 1'
}
memory_stays() {
	local early late
	lab_exec sh -c 'xenflame top -b -d 1 -F 999 >/dev/null 2>&1 & echo $! >/run/pid; sleep 25' || return 1
	early=$(memory_of_both)
	sleep 50
	late=$(memory_of_both)
	lab_exec sh -c 'kill $(cat /run/pid); sleep 3'
	echo "$early KiB, then $late KiB"
	[ "$early" -gt 1000 ] && [ "$late" -lt $((early + early / 10)) ]
}

# A recording that another process is making.
follow() {
	lab_exec sh -c '
		xenflame record -t 40 -o /run/followed.data 2>/run/said & pid=$!
		for i in $(seq 30); do [ ! -e /run/followed.data ] || break; sleep 1; done
		xenflame top -b -n 2 -i /run/followed.data; status=$?
		kill $pid; wait $pid
		rm -f /run/followed.data
		exit $status' >"$shown" 2>"$lab_tmp/said" || { cat "$shown" "$lab_tmp/said"; return 1; }
}

# Of Linux's, that a process's system calls run.
KERNEL_FUNCTIONS='do_syscall_64|ksys_read|ksys_write|vfs_read|vfs_write|vfs_statx|x64_sys_call|__x64_sys_.*'

for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --guests pvh,pv
	before=$(console_lines)
	lab_put "$TOOL" /usr/local/bin/
	lab_exec touch /tmp/mark
	check the-load-starts each_load start hypercall
	check three-pictures-of-a-second top -n 3 -d 1
	check and-no-more pictures 3
	check each-pcpus-shares-make-100-percent pcpus_add_up
	check each-pictures-samples-add-up samples_add_up
	check what-runs-is-among-the-first hot_function 'pv_hypercall|lstar_enter|do_xen_version|restore_all_guest|test_all_events' 6
	check it-tells-its-own-cost own_cost_is_told
	check nothing-is-left-in-xen nothing_left
	check no-file-is-left no_file_is_left
	check another-frequency-without-stacks-of-guests top -n 2 -d 2 -F 199 -g none
	check is-kept frequency_is_kept 199
	check the-load-stops each_load stop hypercall
	check a-process-of-dom0s-starts each_load start syscalls
	check it-is-shown top -n 2 -d 3 -l 0
	check by-its-name hot_process syscalls 3
	check with-functions-of-dom0s-kernel in_last_picture "$KERNEL_FUNCTIONS"
	check processes-have-dom0s-samples processes_are_dom0s
	check of-most-the-process-is-known processes_are_known 25
	check that-process-stops each_load stop syscalls
	check a-process-of-a-guests-starts each_load start syscalls@pv
	check that-guest-is-looked-at top -n 6 -d 2 -l 0 -g pv
	check its-kernels-functions-are-shown in_last_picture "$KERNEL_FUNCTIONS"
	check and-its-process-by-its-name grep -q '  pv: syscalls (' "$shown"
	check that-guest-with-an-image-that-is-named top -n 6 -d 2 -l 0 -g pv \
		--guest-kernel "pv=/boot/$(lab_exec sh -c 'ls /boot | grep vmlinuz')"
	check its-functions-too in_last_picture "$KERNEL_FUNCTIONS"
	check_status an-image-of-a-guest-that-is-not-read-is-refused 2 \
		lab_exec xenflame top -b -n 1 -g pv --guest-kernel pvh=/lab/guests/vmlinux
	check that-process-stops-too each_load stop syscalls@pv
	check a-burning-guest-starts each_load start burn@pv
	check its-share-is-shown top -n 1 -d 3 -g none
	check under-its-name grep -qE '^ +[3-6][0-9]\.[0-9]+% .* pv$' "$shown"
	check a-burning-guest-stops each_load stop burn@pv
	check a-recording-that-is-being-made-is-followed follow
	check followed-in-two-pictures pictures 2
	check whose-shares-make-100-percent pcpus_add_up
	check with-its-processes grep -q '  xenflame (' "$shown"
	for signal in TERM INT; do
		check "sig$signal-ends-it" ended_by $signal
		check "after-sig$signal-nothing-is-left-in-xen" nothing_left
		check "after-sig$signal-nobody-runs" nobody_runs
		check "after-sig$signal-no-file-is-left" no_file_is_left
	done
	check a-view-that-stands-still-goes-on stands_still
	check to-its-end pictures 4
	check on-a-terminal-q-ends-it typed
	check after-q-nothing-is-left-in-xen nothing_left
	check memory-stays-what-it-is memory_stays
	check sigKILL-ends-it killed
	check after-sigKILL-nobody-runs gone_within_a_while
	check after-sigKILL-nothing-is-left-in-xen nothing_left
	check_status an-unknown-guest-is-refused 2 lab_exec xenflame top -b -n 1 -g nobody
	check_status beside-another-recorder-it-is-busy 6 \
		lab_exec sh -c 'xenflame record -t 30 -o /run/x.data 2>/dev/null & pid=$!
			for i in $(seq 30); do [ ! -e /run/x.data ] || break; sleep 1; done
			xenflame top -b -n 1; status=$?; kill $pid; wait $pid; rm -f /run/x.data; exit $status'
	check xens-console-is-calm console_is_calm "$before"
done
lab_done
