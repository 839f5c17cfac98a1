#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Guests attack the agent, on each Xen: user code in dom0, a PV and a PVH guest, and a PV and a PVH
# kernel of our own enter Xen without end with hostile stack pointers, among them all of Xen's own
# stacks, on page tables that change, while they are sampled as often as the emulator can bear.
# Time limit: 15 minutes, and four times XENFLAME_LAB_SECONDS.
#
# XENFLAME_LAB_SECONDS    of recording, for each Xen (20)
# XENFLAME_LAB_FREQUENCY  samples a second and pCPU (2000)
LAB_TEST=lab_hostile
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

EXAMINE=$LAB_ROOT/build/test/examine_hostile
SECONDS_ALL=${XENFLAME_LAB_SECONDS:-20}
SECONDS_EACH=10
LAB_TIMEOUT=600
KERNELS='hostile-pv hostile-pvh'
DOMAINS='dom0 pv pvh'

# Where the pCPUs' stacks of Xen begin.
xen_stacks() {
	local array cpu
	array=$(xen_symbol stack_base)
	for cpu in 0 1; do
		xen_word "$(printf '%x' $((0x$array + cpu * 8)))" || return 1
	done | paste -sd ' '
}

start_kernel() { # NAME
	lab_exec xl create -q "/lab/guests/$1.cfg" "extra=\"$stacks\"" || return 1
	attacking="$attacking $1"
}

start_everywhere() {
	local domain
	for domain in $DOMAINS; do
		lab_exec load start "hostile:${stacks// /:}" "$domain" || return 1
	done
	start_kernel hostile-pvh
}

# As on hosts whose owners care: else the attackers' vCPUs take most of the time that the recorder needs.
favour_dom0() {
	lab_exec xl sched-credit2 -d Domain-0 -w 4096
}

# What each guest has used of its CPUs' time: "NAME SECONDS". Those that crashed are not told.
times() {
	lab_exec xl list | awk 'NR > 1 && $5 ~ /^[-rb]*$/ { print $1, $6 }' | sort
}

# Every attack still goes on: the programs run, the kernels have neither crashed nor stopped.
attacks_go_on() {
	local domain kernel before after
	for domain in $DOMAINS; do
		[ "$(lab_exec load list "$domain")" = hostile ] || { echo "hostile has ended in $domain"; return 1; }
	done
	before=$(times)
	lab_exec sleep 5
	after=$(times)
	for kernel in $KERNELS; do
		awk -v name="$kernel" '$1 == name { t[++n] = $2 } END { exit !(n == 2 && t[2] > t[1]) }' \
			<(printf '%s\n%s\n' "$before" "$after") || {
			echo "$kernel does not run any more:"
			lab_exec xl list
			return 1
		}
	done
}

stop_attacks() {
	local domain kernel
	for domain in $DOMAINS; do
		lab_exec load stop hostile "$domain" || return 1
	done
	for kernel in $KERNELS; do
		lab_exec xl destroy "$kernel" || return 1
	done
}

# The kernels that attack are said to be a Linux: their tasks are looked for.
record_turn() { # NAME SECONDS FREQUENCY
	local kernel given=()
	for kernel in $attacking; do
		given+=(--guest-kernel "$kernel=/lab/guests/vmlinux")
	done
	record "$1" "$2" -F "$3" -g all "${given[@]}" && books_add_up "$1"
}

# A recorder that gets no CPU for longer than the agent waits is one that this machine cannot emulate at
# this frequency: half of it then.
record_all() { # SECONDS
	local left=$1
	while [ "$left" -gt 0 ]; do
		turn=$((turn + 1))
		if record_turn "turn$turn" $((left < SECONDS_EACH ? left : SECONDS_EACH)) "$FREQUENCY"; then
			left=$((left - SECONDS_EACH))
		elif grep -q 'the agent stopped by itself' "$lab_tmp/turn$turn.err" && [ "$FREQUENCY" -gt 200 ]; then
			FREQUENCY=$((FREQUENCY / 2))
		else
			return 1
		fi
	done
}

# A packet to the emulator's debugger interface. Before it answers it may tell that the host has stopped.
gdb_packet() { # DATA
	local sum=0 i answer=''
	for ((i = 0; i < ${#1}; i++)); do
		sum=$((sum + $(printf '%d' "'${1:i:1}")))
	done
	printf '+$%s#%02x' "$1" $((sum % 256)) >&9
	while read -r -t 20 -d '#' -u 9 answer; do
		[ "${answer##*\$}" != OK ] || return 0
	done
	echo "the emulator answers '$answer' to '$1'"
	return 1
}

# The emulator takes interrupts between blocks of instructions alone, of which most are longer than the
# gap. Where a page of code has a breakpoint it makes blocks of one instruction of it: here one that
# nothing ever hits, since it lies in the middle of an instruction. It costs the host much of its speed.
step_through_the_gap() { # on|off
	local place packet status=0
	if [ "$1" = on ]; then
		packet=Z0
		gdb_port=$((20000 + RANDOM % 20000))
		monitor "gdbserver tcp:127.0.0.1:$gdb_port"
		examine | sed -nE 's/^at ([0-9a-f]+):.*/\1/p' >"$lab_tmp/places"
	else
		packet=z0
	fi
	exec 9<>"/dev/tcp/127.0.0.1/$gdb_port" || return 1 # the host stops for the debugger
	while read -r place; do
		gdb_packet "$packet,$(printf '%x' $((0x$place + 1))),1" || status=1
	done <"$lab_tmp/places"
	exec 9>&-
	monitor cont
	return $status
}

monitor() { # COMMAND
	"$LAB" qmp "$LAB_DIR" "{\"execute\":\"human-monitor-command\",\"arguments\":{\"command-line\":\"$1\"}}"
}

examine() {
	"$EXAMINE" "$lab_tmp"/turn*.data
}

# There were samples in the gap, with RSP elsewhere and with RSP on the stack that is in use; else nothing
# has been tried. SYSCALL's stub has three instructions before the switch of stacks.
the_gap_was_hit() {
	local foreign own
	read -r foreign own < <(examine | sed -nE 's/.*foreign ([0-9]+) at .* own ([0-9]+) at .*/\1 \2/p')
	[ "$foreign" -gt 0 ] && [ "$own" -gt 0 ] &&
		examine | sed -nE 's/^at ([0-9a-f]+)...:.*/\1/p' | sort | uniq -c | awk '{ if ($1 >= 3) hit = 1 } END { exit !hit }'
}

# What follows makes no sense on a dead host.
host_is_alive() {
	[ "$("$LAB" status "$LAB_DIR" | head -n 1)" = running ] || fail "the host has died"
}

tell_losses() { # FREQUENCY
	cat "$lab_tmp"/turn*.err | awk '/^xenflame: pCPU [0-9]/ { gsub(/[^0-9 ]/, " ")
			produced += $2; delivered += $3; slot += $4; nmi += $5; trace += $6; skipped += $8 }
		END { printf "# at '"$1"' Hz: produced %d, delivered %d, lost %d for want of a slot, %d NMIs, %d in the trace buffer; skipped %d\n",
			produced, delivered, slot, nmi, trace, skipped }'
}

for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	FREQUENCY=${XENFLAME_LAB_FREQUENCY:-2000}
	turn=0
	attacking=''
	rm -f "$lab_tmp"/{symbols,turn*}
	lab_boot --xen "$xen" --guests pvh,pv
	before=$(console_lines)
	lab_put "$TOOL" /usr/local/bin/
	stacks=$(xen_stacks) || fail "Xen's stacks were not found"
	check dom0-is-favoured favour_dom0
	check a-kernel-attacks start_kernel hostile-pv
	check the-kernels-attack-is-recorded record_all 10
	host_is_alive
	check the-gaps-instructions-are-emulated-one-by-one step_through_the_gap on
	check the-kernels-attack-on-each-is-recorded record_all 10
	check the-gap-is-emulated-as-ever step_through_the_gap off
	check everybody-attacks start_everywhere
	check the-attacks-are-recorded record_all "$SECONDS_ALL"
	host_is_alive
	tell_losses "$FREQUENCY"
	check samples-with-a-guests-rsp-are-marked-and-alone examine
	sed 's/^/# /' "$lab_tmp/check.out"
	check the-gap-was-hit-at-each-instruction-with-every-sort-of-rsp the_gap_was_hit
	check the-attackers-are-unharmed attacks_go_on
	check the-attacks-stop stop_attacks
	check guests-answer lab_exec sh -c 'load list pv && load list pvh'
	check nothing-is-left-in-xen nothing_left
	check xens-console-is-calm console_is_calm "$before"
	check dom0-is-well lab_exec judge --health
done
lab_done
